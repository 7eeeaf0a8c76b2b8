import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import type { BuildEntry } from "@xfn/oci-rootfs";
import { build } from "esbuild";
import { buildCodeFunction } from "./code-function.ts";
import { buildGrpcImage } from "./grpc-function.ts";
import { CHECKOUT } from "./paths.ts";
import { pythonPackages, typescriptPackages } from "./sdk-packages.ts";
import { which } from "./which.ts";
import type { Workspace } from "./workspace.ts";

/** Builds the image of the function with the official Python SDK. @returns its name */
export async function buildPythonGreeting(workspace: Workspace): Promise<string> {
  const folder = join(CHECKOUT, "test/functions/python-greeting");
  const packages = pythonPackages();
  const main = readFileSync(join(folder, "main.py"));
  return await buildGrpcImage(workspace, {
    name: "test/python-greeting",
    base: await buildCodeFunction(workspace, "python"),
    entries: [...filesOf(packages, "app/packages"), ...libraries(packages), { path: "app/main.py", content: main }],
    entrypoint: ["/usr/bin/python3", "/app/main.py"],
    env: { PYTHONPATH: "/app/packages", LD_LIBRARY_PATH: "/app/libraries", PYTHONDONTWRITEBYTECODE: "1" },
  });
}

/** Builds the image of the function with the official TypeScript SDK. @returns its name */
export async function buildTypeScriptGreeting(workspace: Workspace): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(typescriptPackages(), "main.js")],
    bundle: true,
    platform: "node",
    format: "cjs",
    write: false,
  });
  return await buildGrpcImage(workspace, {
    name: "test/typescript-greeting",
    base: await buildCodeFunction(workspace, "node"),
    entries: [{ path: "app/main.cjs", content: outputFiles[0]?.contents ?? "" }],
    entrypoint: ["node", "/app/main.cjs"],
  });
}

function filesOf(folder: string, target: string): BuildEntry[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes("__pycache__"))
    .map((entry) => {
      const source = join(entry.parentPath, entry.name);
      return { path: join(target, relative(folder, source)), source, mode: entry.name.endsWith(".so") ? 0o755 : 0o644 };
    });
}

/** The libraries of this machine that native modules need. */
function libraries(folder: string): BuildEntry[] {
  const modules = filesOf(folder, "").flatMap((entry) =>
    "source" in entry && entry.source.endsWith(".so") ? [entry.source] : [],
  );
  const { stdout } = spawnSync(which("ldd") ?? "ldd", modules, { encoding: "utf8", timeout: 30_000 });
  const paths = new Set([...stdout.matchAll(/=> (\/\S+)/g)].map(([, path = ""]) => path));
  return [...paths]
    .filter((path) => !path.startsWith(dirname(folder)))
    .map((source) => ({ path: `app/libraries/${basename(source)}`, source, mode: 0o755 }));
}
