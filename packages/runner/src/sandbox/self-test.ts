import { mkdirSync, writeFileSync } from "node:fs";
import { RunnerError } from "@xfn/runner-contract";
import { brokenPromise, filesOf, findProcess } from "./runtime-promises.ts";
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
    throw new RunnerError(error.code, `no container can run: ${error.message}`, {
      phase: error.phase,
      retryable: error.retryable,
      cause: error,
    });
  }
  if (!input.equals(output)) {
    const message = "no container can run: the output of the test program differs from its input";
    throw new RunnerError("StartFailed", message, { phase: "start", retryable: false });
  }
}

/** Starts a self-test, inspects it and discards it. @throws RunnerError if it is not isolated as configured */
export async function inspect(sandbox: Sandbox, host: SandboxHost): Promise<void> {
  sandbox.start();
  try {
    await checkIsolation(sandbox, host);
  } finally {
    sandbox.discard();
  }
}

async function checkIsolation(sandbox: Sandbox, host: SandboxHost): Promise<void> {
  const { path, family } = sandbox.spec.runtime;
  let ended = false;
  const end = (): void => {
    ended = true;
  };
  sandbox.exit.then(end, end);
  const pid = await findProcess(family, host.pid, NAME, () => ended);
  // The call of the next one fails with the reason.
  if (pid === undefined) return;
  const broken = brokenPromise(family, filesOf(pid), filesOf(host.pid), sandbox.groups);
  if (broken === undefined) return;
  const message = `the OCI runtime ${path} ${broken}, so it is not used: choose another with --oci-runtime`;
  throw new RunnerError("StartFailed", message, { phase: "start", retryable: false });
}

/** The program in the image of the self-test, whose process has this name. */
const NAME = "self-test";

/** Writes an image that contains only the program into the scratch directory of a ready sandbox host. */
export function writeSelfTestImage(host: SandboxHost, program: Buffer): RunnableImage {
  const name = NAME;
  const directory = `${host.scratchFromOutside}/${name}`;
  mkdirSync(directory, { recursive: true });
  // An existing file may be running, and never changes.
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
