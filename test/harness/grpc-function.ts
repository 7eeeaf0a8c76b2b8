import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { type BuildEntry, buildImage } from "@xfn/oci-rootfs";
import { CHECKOUT } from "./paths.ts";
import { storeOf } from "./shell-function.ts";
import type { Workspace } from "./workspace.ts";

/** `package.yaml` of a package of a Function. */
const FUNCTION_PACKAGE = `apiVersion: meta.pkg.crossplane.io/v1
kind: Function
metadata:
  name: function-greeting
`;

// The first build compiles the SDK, which takes minutes; later ones take a second.
const BUILD_MS = 900_000;

/** Returns the folder that keeps built programs and installed packages from one run of the tests to the next. */
export function functionCache(): string {
  const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "xfn-test-functions");
  mkdirSync(cache, { recursive: true });
  return cache;
}

// Only one process compiles the SDK. The others wait, and then find the program.
const BUILD_ONCE = '[ -x "$1" ] || { go build -trimpath -buildvcs=false -o "$1.new" . && mv "$1.new" "$1"; }';

/** Builds a Go program of test/functions, without C, unless this version of it is in the cache. @returns its path */
export function buildGoProgram(name: string): string {
  const cwd = join(CHECKOUT, "test/functions", name);
  const env = { ...process.env, CGO_ENABLED: "0", GOTOOLCHAIN: "local", GOFLAGS: "-mod=readonly" };
  const program = join(functionCache(), `${name}-${goVersion(cwd, env)}`);
  if (existsSync(program)) return program;
  const build = ["-o", join(functionCache(), "go.lock"), "sh", "-c", BUILD_ONCE, "sh", program];
  const { status, stderr } = spawnSync("flock", build, { cwd, env, timeout: BUILD_MS });
  if (status !== 0) throw new Error(`cannot build ${name}: ${String(stderr).slice(-2000)}`);
  return program;
}

/** A hash of what a Go program is built from. */
function goVersion(cwd: string, env: NodeJS.ProcessEnv): string {
  const hash = createHash("sha256").update(execFileSync("go", ["env", "GOVERSION", "GOARCH"], { cwd, env }));
  for (const file of readdirSync(cwd).sort()) hash.update(`${file}\0`).update(readFileSync(join(cwd, file)));
  return hash.digest("hex").slice(0, 16);
}

/** The image of a function that is a gRPC server. */
export interface GrpcImage {
  name: string;
  /** A static program on this machine, which becomes /function and the entrypoint. */
  program?: string;
  /** Without a program: files of the image. */
  entries?: readonly BuildEntry[];
  entrypoint?: readonly string[];
  base?: string;
  env?: Readonly<Record<string, string>>;
  /** Content of `package.yaml`; default {@link FUNCTION_PACKAGE}; undefined for none. */
  packageFile?: string | undefined;
}

/** Builds an image of a function that is a gRPC server into a workspace's store. @returns its name */
export async function buildGrpcImage(workspace: Workspace, image: GrpcImage): Promise<string> {
  const store = await storeOf(workspace);
  const packageFile = "packageFile" in image ? image.packageFile : FUNCTION_PACKAGE;
  const entries: BuildEntry[] = [...(image.entries ?? []), { path: "tmp", directory: true, mode: 0o1777 }];
  if (image.program !== undefined) entries.push({ path: "function", source: image.program, mode: 0o755 });
  const layers = [{ entries, compression: "none" as const }];
  if (packageFile !== undefined)
    layers.push({ entries: [{ path: "package.yaml", content: packageFile }], compression: "none" as const });
  const entrypoint = image.entrypoint ?? (image.program === undefined ? undefined : ["/function"]);
  await buildImage({
    store,
    name: image.name,
    layers,
    ...(image.base === undefined ? {} : { base: await store.image(image.base) }),
    config: { user: "2000:2000", ...(entrypoint && { entrypoint }), ...(image.env && { env: image.env }) },
  });
  return image.name;
}
