/**
 * newcomer: what the README promises to somebody who has nothing but git, node and npm. The full
 * form clones HEAD into an empty folder and installs from the registry; the short form runs the
 * present working copy on an empty state folder. Everything after that is the same: real npm, the
 * printed line in a real shell.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callManagement } from '../../scripts/lib/management.ts';
import { freePorts, isFree } from '../../scripts/lib/ports.ts';
import { type RunningCommand, runCommand, startCommand } from '../support/commands.ts';
import { holds, type Proof, type Row, same } from '../support/proof.ts';

/** An install from the registry, two shared cores, a cold cache. */
const firstStartTimeoutMs = 900_000;
const startTimeoutMs = 45_000;

/** The rows are one story; this is what they hand on. */
class Newcomer {
  readonly folder = mkdtempSync(join(tmpdir(), 'weir-newcomer-'));
  readonly home: string;
  readonly port: number;
  readonly state: string;
  readonly short: boolean;
  running: RunningCommand | null = null;
  /** The line as the first start printed it. */
  curlLine = '';
  readonly startSeconds: number[] = [];

  constructor(short: boolean, port: number) {
    this.short = short;
    this.port = port;
    this.home = short ? process.cwd() : join(this.folder, 'weir');
    this.state = short ? join(this.folder, 'state') : join(this.home, '.weir');
  }

  get env(): Record<string, string> {
    return { PORT: String(this.port), ...(this.short ? { WEIR_STATE: this.state } : {}) };
  }

  /** `npm start`, up to its printed curl line. */
  async start(timeoutMs: number): Promise<string> {
    const startedAt = performance.now();
    this.running = startCommand('npm', ['start'], { cwd: this.home, env: this.env });
    const line = await this.running.line(/^\s*curl /, timeoutMs);
    this.startSeconds.push((performance.now() - startedAt) / 1000);
    return line.trim();
  }

  /**
   * Ctrl-C, as far as a group of processes can tell; npm itself then ends by the signal, whatever
   * Weir's own exit code.
   */
  async stop(): Promise<void> {
    const { running } = this;
    this.running = null;
    if (running === null) return;
    await running.stop();
    holds(
      running.output().includes('Weir stopped.'),
      `no word of a clean stop: ${running.output().slice(-500)}`,
    );
  }

  get key(): string {
    return /wk_[0-9A-Za-z]+/.exec(this.curlLine)?.[0] ?? '';
  }

  get vendorPort(): number {
    return Number(
      /demo vendor runs on http:\/\/127\.0\.0\.1:(\d+)/.exec(this.running?.output() ?? '')?.[1],
    );
  }

  /** Ids of the calls that the gateway has on record for the demo tenant. */
  async recordedCalls(): Promise<string[]> {
    const { body } = await callManagement({
      port: this.port,
      key: this.key,
      method: 'GET',
      path: '/api/v1/calls',
    });
    return (body as { data: { id: string }[] }).data.map(({ id }) => id);
  }
}

/** Runs the line in a shell, as a person would paste it, and checks the demo answer. */
async function pasteCurl(line: string): Promise<void> {
  const { code, stdout, stderr } = await runCommand('sh', ['-c', line]);
  same(code, 0, `exit code of the curl line (${stderr})`);
  const { data, demo } = JSON.parse(stdout) as { data: { id: string }[]; demo: object };
  same(
    data.map(({ id }) => id),
    ['demo-small', 'demo-large'],
    'the models',
  );
  same(demo, { vendor_credential: 'accepted', weir_key: 'not seen' }, 'what the vendor saw');
}

async function waitFor<T>(
  read: () => Promise<T>,
  done: (value: T) => boolean,
  what: string,
): Promise<T> {
  for (const deadline = Date.now() + 10_000; Date.now() < deadline; ) {
    const value = await read();
    if (done(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${what}: not within 10 s`);
}

const cloneRow = (it: Newcomer): Row => ({
  name: 'git clone of HEAD into an empty folder',
  async run() {
    const cloned = await runCommand('git', ['clone', '--quiet', process.cwd(), it.home]);
    same(cloned.code, 0, `git clone (${cloned.stderr})`);
    holds(!existsSync(join(it.home, 'node_modules')), 'the clone has node_modules');
    return (
      await runCommand('git', ['rev-parse', '--short', 'HEAD'], { cwd: it.home })
    ).stdout.trim();
  },
});

const storyRows = (it: Newcomer): Row[] => [
  {
    name: it.short
      ? 'npm start on an empty state prints a curl line'
      : 'npm start installs everything and prints a curl line',
    async run() {
      it.curlLine = await it.start(it.short ? startTimeoutMs : firstStartTimeoutMs);
      same(
        statSync(join(it.state, 'dev.env')).mode & 0o777,
        0o600,
        'mode of the file with the secrets',
      );
      return `${it.startSeconds[0]?.toFixed(1)} s`;
    },
  },
  {
    name: 'the curl line, pasted as printed, gets the demo answer with the credential injected',
    run: () => pasteCurl(it.curlLine),
  },
  {
    name: 'the vendor refuses the same call without Weir in front',
    async run() {
      const { vendorPort, key } = it;
      const answer = await fetch(`http://127.0.0.1:${vendorPort}/v1/models`, {
        headers: { authorization: `Bearer ${key}` },
      });
      same(answer.status, 401, 'status');
    },
  },
  {
    name: 'a second start keeps key, curl line and recorded calls',
    async run() {
      const before = await waitFor(
        () => it.recordedCalls(),
        (ids) => ids.length > 0,
        'the call is on record',
      );
      await it.stop();
      same(await it.start(startTimeoutMs), it.curlLine, 'the curl line');
      await pasteCurl(it.curlLine);
      same(
        (await it.recordedCalls()).slice(0, before.length),
        before,
        'calls from before the stop',
      );
      return `${it.startSeconds[1]?.toFixed(1)} s`;
    },
  },
  {
    name: 'a folder that is none, a setting that cannot be used: sentences, no stack',
    async run() {
      const [port = 0] = await freePorts(1);
      const fresh = { ...it.env, PORT: String(port), WEIR_STATE: join(it.folder, 'other') };
      const start = (env: object) =>
        runCommand('npm', ['start'], { cwd: it.home, env: { ...fresh, ...env } });
      const file = join(it.home, 'package.json');
      const inFile = await start({ WEIR_STATE: file });
      const unusable = await start({ WEIR_EGRESS_ALLOW: 'nonsense' });
      for (const { code, stdout, stderr } of [inFile, unusable]) {
        same(code, 1, 'exit code');
        holds(!/^ +at /m.test(stdout + stderr), `a stack: ${stderr}`);
      }
      holds(inFile.stderr.includes('cannot be used as a folder'), inFile.stderr);
      holds(unusable.stdout.includes('EGRESS_ALLOW: entry'), unusable.stdout);
      holds(unusable.stderr.includes('refuses this environment'), unusable.stderr);
    },
  },
  {
    name: 'a taken port is one sentence that names the port and --port, exit 1',
    async run() {
      const { code, stdout, stderr } = await runCommand('npm', ['start'], {
        cwd: it.home,
        env: it.env,
      });
      same(code, 1, 'exit code');
      const lines = `${stdout}\n${stderr}`
        .split('\n')
        .filter((line) => line.trim() !== '' && !/^(>|npm )/.test(line));
      same(lines.length, 1, `lines beside npm's own (${lines.join(' | ')})`);
      holds(
        lines[0]?.includes(`Port ${it.port} is taken`) && lines[0].includes('--port'),
        `the sentence: ${lines[0]}`,
      );
      await pasteCurl(it.curlLine);
      return lines[0];
    },
  },
  {
    name: 'a second operator key in dev.env: the running gateway is still known as ours, and it starts with both',
    async run() {
      const file = join(it.state, 'dev.env');
      const rotated = readFileSync(file, 'utf8').replace(
        /^OPERATOR_KEY=/m,
        `OPERATOR_KEY=op_${'n'.repeat(48)},`,
      );
      writeFileSync(file, rotated);
      const second = await runCommand('npm', ['run', '-s', 'ledger:audit'], {
        cwd: it.home,
        env: it.env,
      });
      same(second.code, 1, 'exit code of an audit of data in use');
      holds(second.stderr.includes('A Weir runs on'), second.stderr);
      await it.stop();
      same(await it.start(startTimeoutMs), it.curlLine, 'the curl line');
      await pasteCurl(it.curlLine);
    },
  },
  {
    name: 'a stop ends everything: it says so, and both ports are free',
    async run() {
      const ports = [it.port, it.vendorPort];
      await it.stop();
      for (const port of ports) holds(await isFree(port), `port ${port} is still taken`);
    },
  },
];

export const proof: Proof = {
  name: 'newcomer',
  title: 'one command from a fresh clone to an answered call',
  async stage({ short }) {
    const [port = 0] = await freePorts(1);
    const it = new Newcomer(short, port);
    return {
      rows: [...(short ? [] : [cloneRow(it)]), ...storyRows(it)],
      figure: () => {
        const [first = Number.NaN, second = Number.NaN] = it.startSeconds;
        return `first start ${first.toFixed(1)} s, second start ${second.toFixed(1)} s`;
      },
      async dispose() {
        await it.running?.stop();
        rmSync(it.folder, { recursive: true, force: true });
      },
    };
  },
};
