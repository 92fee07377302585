/**
 * Edge answers: deployed, a `fetch` whose connection breaks does not reject: Cloudflare answers in the vendor's place, with a status of its own.
 * A vendor behind Cloudflare has them too.
 * Promises: tells those that come after the request was sent. Pure. Called by stage 09.
 */

/** 520: the vendor's answer was none. 522: it did not acknowledge the request. 524: it did not answer in time. */
const afterTheSend: ReadonlySet<number> = new Set([520, 522, 524]);

/** Whether the vendor may have executed a request that was answered so; 521, 523, 525 to 527 and 530 are for one that never reached it. */
export const isUnseenAnswer = (status: number): boolean => afterTheSend.has(status);
