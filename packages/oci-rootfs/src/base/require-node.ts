// Each entry imports this module first. Until then older releases of Node must get along with all modules, so that none
// imports by its name what they lack.
import process from "node:process";

/** `engines` in package.json. */
const OLDEST_NODE = 24;

if (Number(process.versions.node.split(".")[0]) < OLDEST_NODE) {
  const { stackTraceLimit } = Error;
  // The frames are those of Node's loader.
  Error.stackTraceLimit = 0;
  const error = new Error(
    `@xfn/oci-rootfs needs Node ${OLDEST_NODE} or newer, this is ${process.version}: install it from https://nodejs.org`,
  );
  Error.stackTraceLimit = stackTraceLimit;
  throw error;
}
