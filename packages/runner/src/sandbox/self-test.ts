import { mkdirSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { RunnerError } from "@xfn/runner-contract";
import type { OciRuntime } from "./crun.ts";
import { brokenPromise, filesOf, findProcess, processesOf, type WantedProcess } from "./runtime-promises.ts";
import type { Sandbox } from "./sandbox.ts";
import type { SandboxHost } from "./sandbox-host.ts";
import type { RunnableImage } from "./sandbox-spec.ts";
import { SELF_TEST_BYTES, selfTestProgram } from "./self-test-program.ts";

/** Runs the test program, which copies stdin to stdout, and compares its output. @throws RunnerError */
export async function selfTest(run: (program: Buffer, input: Buffer) => Promise<Uint8Array>): Promise<void> {
  const program = selfTestProgram();
  if (program === undefined) {
    throw new RunnerError("StartFailed", `no test program exists for the processor ${process.arch}`, {
      phase: "start",
      retryable: false,
    });
  }
  const input = Buffer.alloc(SELF_TEST_BYTES, "xfn ");
  let output: Uint8Array;
  try {
    output = await run(program, input);
  } catch (error) {
    if (!(error instanceof RunnerError)) throw error;
    const { code, phase, retryable, stderr, exitCode } = error;
    const message = `no container can run: ${error.message}`;
    throw new RunnerError(code, message, { phase, retryable, stderr, exitCode, cause: error });
  }
  if (!input.equals(output)) {
    const message = "no container can run: the output of the test program differs from its input";
    throw new RunnerError("StartFailed", message, { phase: "start", retryable: false });
  }
}

/**
 * Starts a self-test, inspects its process, and ends it.
 *
 * @returns false if the container ended before its process was found: a run of the test then gives the reason
 * @throws RunnerError if the process is not isolated as configured, or is not found
 */
export async function inspect(sandbox: Sandbox, host: SandboxHost): Promise<boolean> {
  const { family } = sandbox.spec.runtime;
  const wanted = { family, host: host.pid, program: NAME };
  const earlier = new Set(processesOf(wanted));
  sandbox.start();
  try {
    return await isInspected(sandbox, wanted, earlier);
  } finally {
    sandbox.discard();
  }
}

async function isInspected(sandbox: Sandbox, wanted: WantedProcess, earlier: ReadonlySet<number>): Promise<boolean> {
  const { path, family } = sandbox.spec.runtime;
  let ended = false;
  const end = (): void => {
    ended = true;
  };
  sandbox.exit.then(end, end);
  const pid = await findProcess(wanted, earlier, () => ended);
  if (pid === undefined && ended) return false;
  if (pid === undefined) throw refused(path, NOT_FOUND);
  const broken = await lastingly(
    () => brokenPromise(family, filesOf(pid), filesOf(wanted.host), sandbox.groups),
    () => ended || family !== "runsc",
  );
  if (broken !== undefined) throw refused(path, broken);
  return true;
}

const POLL_MS = 10;
/** gVisor's kernel starts within a second on an idle machine. */
const CONFINED_MS = 10_000;

/**
 * Repeats a failing check until it finds no problem or the time is over: gVisor's process has its name before it
 * confines itself. Other runtimes confine a process before it has the name of the program.
 */
async function lastingly(check: () => string | undefined, final: () => boolean): Promise<string | undefined> {
  const until = performance.now() + CONFINED_MS;
  let found = check();
  while (found !== undefined && !final() && performance.now() < until) {
    await sleep(POLL_MS);
    found = check();
  }
  return found;
}

const NOT_FOUND = "shows no process of its container, whose isolation cannot be tested";

/** The error for a runtime that cannot be used. @param why the end of a sentence about it */
function refused(path: string, why: string): RunnerError {
  const message = `the OCI runtime ${path} ${why}, so it is not used: choose another with --oci-runtime`;
  return new RunnerError("StartFailed", message, { phase: "start", retryable: false });
}

/** The error for a runtime whose test ran, although its process was not seen. */
export function notInspected({ path }: Pick<OciRuntime, "path">): RunnerError {
  return refused(path, NOT_FOUND);
}

/** The program in the image of the self-test, whose process has this name. */
const NAME = "self-test";

/** Writes an image that contains only the program into the scratch directory of a ready sandbox host. */
export function writeSelfTestImage(host: SandboxHost, program: Buffer): RunnableImage {
  const name = NAME;
  const directory = `${host.scratchFromOutside}/${name}`;
  mkdirSync(directory, { recursive: true });
  // An existing file may be running, and its content never changes.
  try {
    writeFileSync(`${directory}/${name}`, program, { mode: 0o755, flag: "wx" });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  return {
    name,
    digest: name,
    config: { config: { Entrypoint: [`/${name}`] } },
    layers: [`${host.scratch}/${name}`],
    overlay: true,
    fifos: false,
  };
}
