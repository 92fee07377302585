/**
 * Entry of every npm script: checks Node, installs what is missing, then runs scripts/NAME.ts on the pinned Node.
 * Plain JavaScript in old syntax on purpose: it must be able to say "your Node is too old".
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

var root = join(dirname(fileURLToPath(import.meta.url)), '..');
var major = Number(process.versions.node.split('.')[0]);
if (major < 20) {
  console.error('Weir needs Node 20 or newer to install itself; this is ' + process.version + '.');
  process.exit(1);
}

var pinned = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).devDependencies.node;
var node = join(root, 'node_modules', '.bin', process.platform === 'win32' ? 'node.cmd' : 'node');
var marker = join(root, 'node_modules', '.package-lock.json');
function pinnedRuns() {
  if (!existsSync(node) || !existsSync(marker)) return false;
  var probe = spawnSync(node, ['--version'], { encoding: 'utf8' });
  return probe.status === 0 && probe.stdout.trim() === 'v' + pinned;
}

var install;
if (!pinnedRuns()) {
  console.error('Installing what is missing (npm ci) …');
  install = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  });
  if (install.status !== 0 || !pinnedRuns()) {
    console.error(
      'The install did not finish: npm ci exited with ' +
        install.status +
        '. Run it by hand to see why.',
    );
    process.exit(1);
  }
}

var name = process.argv[2];
var script = join(root, 'scripts', name + '.ts');
if (!name || !existsSync(script)) {
  console.error('There is no script "' + name + '".');
  process.exit(1);
}
var run = spawn(
  node,
  ['--disable-warning=ExperimentalWarning', script].concat(process.argv.slice(3)),
  {
    cwd: root,
    stdio: 'inherit',
    // What Node compiled once it does not compile again: half of the time in which a command begins.
    env: Object.assign(
      { NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'node') },
      process.env,
      {
        WRANGLER_SEND_METRICS: 'false',
        PATH: join(root, 'node_modules', '.bin') + ':' + process.env.PATH,
      },
    ),
  },
);
['SIGINT', 'SIGTERM', 'SIGHUP'].forEach((signal) => {
  process.on(signal, () => {
    run.kill(signal);
  });
});
run.on('exit', (code) => {
  process.exit(code === null ? 1 : code);
});
