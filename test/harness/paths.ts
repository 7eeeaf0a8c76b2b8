import { fileURLToPath } from "node:url";

/** The checkout under test. */
export const CHECKOUT: string = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

/** The program, as `./xfn` starts it. */
export const XFN_MAIN = `${CHECKOUT}/packages/cli/dist/xfn.js`;

/** The runner, as `./xfn-runner` starts it. */
export const RUNNER_MAIN = `${CHECKOUT}/packages/runner/dist/program/main.js`;

/** The controller, as `./xfn-controller` starts it. */
export const CONTROLLER_MAIN = `${CHECKOUT}/packages/controller/dist/program/main.js`;

/** A uid without passwd entry, home or subordinate ids. */
export const ORDINARY_UID = 61_234;

/** Arguments for setpriv to run a program as that user. */
export const ORDINARY_USER: readonly string[] = [
  `--reuid=${ORDINARY_UID}`,
  `--regid=${ORDINARY_UID}`,
  "--clear-groups",
];
