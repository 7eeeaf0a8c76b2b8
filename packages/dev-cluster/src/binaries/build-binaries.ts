import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { CodedError } from "@xfn/errors";
import { builtBinaries, moduleFolder, PROGRAMS, type Program, type ServerBinaries } from "./server-binaries.ts";

// Bounds Go's output in an error message: its last lines report the error.
const MAX_OUTPUT = 2_000;

/** A binary could not be built. */
export class BuildServerError extends CodedError<"GoMissing" | "BuildFailed"> {
  override readonly name = "BuildServerError";
  /** A module may have been unavailable. */
  override readonly retryable: boolean = this.code === "BuildFailed";
}

export interface BuildOptions {
  readonly programs: readonly Program[];
  /** Called before each build. */
  readonly onProgram?: ((program: Program) => void) | undefined;
  /** Called with the number of Go packages of the current program that are compiled. */
  readonly onPackages?: ((count: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Builds programs of the API server from Go modules into {@link builtBinaries}, at low priority: some minutes on two
 * cores. Each program is renamed into place when it is complete.
 *
 * @throws BuildServerError
 */
export async function buildBinaries(options: BuildOptions): Promise<Partial<ServerBinaries>> {
  const folder = builtBinaries();
  await mkdir(folder, { recursive: true });
  const scratch = await mkdtemp(join(folder, ".build-"));
  try {
    const built: Partial<Record<Program, string>> = {};
    const version = await kubernetesVersion();
    for (const program of options.programs) {
      options.onProgram?.(program);
      await goBuild(program, join(scratch, program), version, options);
      const path = join(folder, program);
      await rename(join(scratch, program), path);
      built[program] = path;
    }
    return built;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function goBuild(
  program: Program,
  target: string,
  version: string,
  { signal, onPackages }: BuildOptions,
): Promise<void> {
  // Without it, `/version` answers v0.0.0, and kubectl warns about the difference.
  const flags = `-s -w -X k8s.io/component-base/version.gitVersion=${version}`;
  // -v prints the name of each package, one a line.
  const args = [
    "build",
    "-v",
    "-trimpath",
    "-buildvcs=false",
    "-p=2",
    "-ldflags",
    flags,
    "-o",
    target,
    PROGRAMS[program],
  ];
  const child = spawn("nice", ["-n", "19", "go", ...args], {
    cwd: moduleFolder(),
    env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-mod=readonly", GOTOOLCHAIN: "local", GOWORK: "off" },
    stdio: ["ignore", "ignore", "pipe"],
    signal,
  });
  let output = "";
  let lines = 0;
  child.stderr.on("data", (chunk: Buffer) => {
    const text = chunk.toString("utf8");
    output = (output + text).slice(-MAX_OUTPUT);
    lines += text.split("\n").length - 1;
    onPackages?.(lines);
  });
  try {
    const [code] = (await once(child, "close")) as [number | null];
    if (code === 0) return;
    if (code === 127) throw new BuildServerError("GoMissing", "Go is not installed: see https://go.dev/dl/");
    throw new BuildServerError("BuildFailed", `go could not build ${program}:\n${output.trim()}`);
  } catch (error) {
    if (error instanceof BuildServerError) throw error;
    signal?.throwIfAborted();
    throw new BuildServerError("GoMissing", "Go could not be started: see https://go.dev/dl/", { cause: error });
  }
}

async function kubernetesVersion(): Promise<string> {
  const text = await readFile(join(moduleFolder(), "go.mod"), "utf8");
  return /k8s\.io\/kubernetes (v\S+)/.exec(text)?.[1] ?? "v0.0.0";
}
