/**
 * How many bytes a text has: limits of ours are bytes, and a text counts characters. Pure. Called by stage 01, its header scan, the
 * envelopes of overflow and the bodies of secrets.
 */

const encoder = new TextEncoder();

/** Bytes of a text as UTF-8. */
export const utf8Bytes = (text: string): number => encoder.encode(text).length;

/** Whether a text has more bytes. No character takes more than three: most texts are told by their length. */
export const isAboveBytes = (text: string, bytesMax: number): boolean =>
  text.length > bytesMax || (3 * text.length > bytesMax && utf8Bytes(text) > bytesMax);
