import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { CHECKOUT } from "./paths.ts";

// A cold build compiles an SDK and gRPC: a minute on an idle machine, many on a busy one. So no build has a time limit,
// and `needs` starts it while vitest collects the tests, before any limit of a test or hook begins.

/** Returns the folder that keeps built programs and installed packages from one run of the tests to the next. */
export function functionCache(): string {
  const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "xfn-test-functions");
  mkdirSync(cache, { recursive: true });
  return cache;
}

/** Builds a Go program of test/functions, without C, unless this version of it is in the cache. @returns its path */
export function buildGoProgram(name: string): string {
  return built(name, join("test/functions", name), ".");
}

/** Builds Helm of test/interop/helm in the same way. Its Kubernetes modules are those of the API server's kubectl. */
export function buildHelm(): string {
  return built("helm", "test/interop/helm", "helm.sh/helm/v3/cmd/helm");
}

/** Builds Krew and the check of its index, as test/interop/krew pins them. */
export function buildKrew(): { readonly krew: string; readonly validator: string } {
  const program = (name: string): string => built(name, "test/interop/krew", `sigs.k8s.io/krew/cmd/${name}`);
  return { krew: program("krew"), validator: program("validate-krew-manifest") };
}

function built(name: string, folder: string, goPackage: string): string {
  const program = join(functionCache(), `${name}-${goVersion(folder)}`);
  if (!existsSync(program)) runGo(folder, ["build", "-trimpath", "-buildvcs=false", "-o", program, goPackage]);
  return program;
}

/** Compiles the tools and the modules that test/interop/go uses, so that a test only compiles its own code. */
export function buildGoModules(folder: string): void {
  runGo(folder, ["build", "-o", "/dev/null", "tool"]);
  runGo(folder, ["build", "google.golang.org/grpc", "google.golang.org/protobuf/proto"]);
}

// Only one process compiles. The others wait, and then find the compiled packages in Go's cache.
function runGo(folder: string, args: readonly string[]): void {
  const lock = join(functionCache(), "go.lock");
  const options = { cwd: join(CHECKOUT, folder), env: environment() };
  const { status, signal, stderr, error } = spawnSync("flock", ["-o", lock, "go", ...args], options);
  if (status === 0) return;
  const cause = error?.message ?? (signal === null ? String(stderr).trim().slice(-2000) : `ended by ${signal}`);
  throw new Error(`go ${args.join(" ")} failed in ${folder}: ${cause}`, { cause: error });
}

/** A hash of what a Go program is built from. */
function goVersion(folder: string): string {
  const cwd = join(CHECKOUT, folder);
  const hash = createHash("sha256").update(
    execFileSync("go", ["env", "GOVERSION", "GOARCH"], { cwd, env: environment() }),
  );
  for (const file of readdirSync(cwd).sort()) hash.update(`${file}\0`).update(readFileSync(join(cwd, file)));
  return hash.digest("hex").slice(0, 16);
}

// A Go older than go.mod requires must fail, and not download another toolchain.
function environment(): NodeJS.ProcessEnv {
  return { ...process.env, CGO_ENABLED: "0", GOTOOLCHAIN: "local", GOFLAGS: "-mod=readonly" };
}
