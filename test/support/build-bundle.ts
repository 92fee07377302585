/** Global setup of the sockets project: the bundle that is tested is the one that the sources make now. */
import { bundleWorker } from '../../scripts/build.ts';

export default async function setup(): Promise<void> {
  await bundleWorker();
}
