/** Every npm script but `npm test`: what it does not understand is a sentence, its usage and exit code 2, before anything is done. */
import { describe, expect, it } from 'vitest';
import { readArguments } from '../../scripts/lib/arguments.ts';
import { runCommand } from '../support/commands.ts';

const node = (script: string, args: readonly string[]) =>
  runCommand(process.execPath, [
    '--disable-warning=ExperimentalWarning',
    `scripts/${script}.ts`,
    ...args,
  ]);

const scripts = [
  'start',
  'prove',
  'bench',
  'build',
  'tidy',
  'catalog',
  'weir',
  'ledger-audit',
  'deploy',
];

describe('npm run …', () => {
  it.each(scripts)('%s --help shows how it is called, exit code 0', async (script) => {
    const { code, stdout, stderr } = await node(script, ['--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^npm (?:start|run )/);
  });

  it.each([
    ['start', ['--port'], '"--port" lacks its value.'],
    ['prove', ['classify', '--count', 'x'], '"--count" wants a whole number from 1.'],
    ['bench', ['nope'], 'There is no set "nope".'],
    ['bench', ['--rounds', 'x'], '"--rounds" wants a whole number from 1.'],
    ['build', ['nope'], '"nope" is not known here.'],
    ['tidy', ['--fxi'], '"--fxi" is not known here.'],
    ['catalog', ['nope'], 'There is no command "nope".'],
    ['ledger-audit', ['--nope'], '"--nope" is not known here.'],
    ['deploy', ['--dryrun'], '"--dryrun" is not known here.'],
  ])('%s %j is a sentence with the usage, exit code 2', async (script, args, sentence) => {
    const { code, stdout, stderr } = await node(script, args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr.startsWith(`${sentence}\nnpm `)).toBe(true);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it('build ends wrangler dev, which would change bytes and, with --remote, work on the deployed database', async () => {
    const build = ['--disable-warning=ExperimentalWarning', 'scripts/build.ts'];
    const env = { WRANGLER_COMMAND: 'dev' };
    const { code, stdout, stderr } = await runCommand(process.execPath, build, { env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^wrangler dev is not for Weir: .*Use npm start\.\n$/);
  });

  it('prove names each proof once when there is none of the name', async () => {
    const { code, stderr } = await node('prove', ['nope']);
    const named = stderr.split('\n').at(3)?.trim().split(' | ') ?? [];
    expect({ code, has: named.includes('newcomer') }).toEqual({ code: 2, has: true });
    expect(named).toEqual([...new Set(named)]);
  });
});

describe('readArguments', () => {
  const taken = { usage: '', switches: ['json'], numbers: ['n'], texts: ['a'], wordsMax: 1 };

  it('gives words, switches and values in both spellings', () => {
    const read = readArguments(['w', '--json', '--n=3', '--a', 'x'], taken);
    if (read.kind !== 'read') throw new Error(read.kind);
    const { words, isSet, number, text } = read.given;
    expect([words, isSet('json'), number('n'), text('a')]).toEqual([['w'], true, 3, 'x']);
    expect([isSet('a'), number('m'), text('b')]).toEqual([true, undefined, undefined]);
  });

  it.each([
    [['--n', '0'], '"--n" wants a whole number from 1.'],
    [['--n', '1.5'], '"--n" wants a whole number from 1.'],
    [['--a', '--json'], '"--a" lacks its value.'],
    [['--json=yes'], '"--json" takes no value.'],
    [['-x'], '"-x" is not known here.'],
    [['w', 'v'], '"v" is not known here.'],
  ])('%j: %s', (args, sentence) => {
    expect(readArguments(args, taken)).toEqual({ kind: 'fault', sentence });
  });
});
