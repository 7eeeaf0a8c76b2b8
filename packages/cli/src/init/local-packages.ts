import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CliError } from "../errors/cli-error.ts";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly workspaces?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** The npm specifiers of this repository's packages in a project, by name. */
export interface PackageSources {
  /** For `devDependencies`. */
  readonly direct: Readonly<Record<string, string>>;
  /** For `overrides`: packages that the direct ones depend on, if no registry has them. */
  readonly indirect: Readonly<Record<string, string>>;
}

/** The folder of the tarballs in a project. */
const FOLDER = "vendor";

/**
 * The sources of packages for a project. From a checkout, which may be ahead of every release, they are tarballs in the
 * project; otherwise versions at the registry.
 *
 * @param names packages that the project imports
 * @throws CliError `Failed` if npm cannot pack them
 */
export async function packageSources(
  names: readonly string[],
  packageFolder: URL,
  project: string,
): Promise<PackageSources> {
  const { version } = manifestIn(fileURLToPath(packageFolder));
  const checkout = fileURLToPath(new URL("../../", packageFolder));
  if (!isCheckout(checkout))
    return { direct: Object.fromEntries(names.map((name) => [name, `^${version}`])), indirect: {} };
  const all = closureOf(names, checkout);
  await pack(all, checkout, join(project, FOLDER));
  const specifiers = Object.values(all)
    .map((manifest): [string, string] => [manifest.name, `file:${FOLDER}/${tarballName(manifest)}`])
    .toSorted(([a], [b]) => a.localeCompare(b, "en"));
  return {
    direct: Object.fromEntries(specifiers.filter(([name]) => names.includes(name))),
    indirect: Object.fromEntries(specifiers.filter(([name]) => !names.includes(name))),
  };
}

function isCheckout(folder: string): boolean {
  return existsSync(join(folder, "package.json")) && manifestIn(folder).workspaces !== undefined;
}

function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

/** The packages and those that they depend on, directly or not. */
function closureOf(names: readonly string[], checkout: string): Readonly<Record<string, Manifest>> {
  const found: Record<string, Manifest> = {};
  const queue = [...names];
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (Object.hasOwn(found, name)) continue;
    const manifest = manifestIn(folderOf(name, checkout));
    found[name] = manifest;
    queue.push(...Object.keys(manifest.dependencies ?? {}).filter((dependency) => dependency.startsWith("@xfn/")));
  }
  return found;
}

function folderOf(name: string, checkout: string): string {
  return join(checkout, "packages", name.replace("@xfn/", ""));
}

async function pack(packages: Readonly<Record<string, Manifest>>, checkout: string, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const folders = Object.keys(packages).map((name) => folderOf(name, checkout));
  const args = ["pack", ...folders, "--pack-destination", folder, "--ignore-scripts", "--loglevel=error"];
  try {
    await promisify(execFile)("npm", args, { cwd: folder });
  } catch (error) {
    const { stderr = "" } = error as { stderr?: string };
    throw new CliError("Failed", "npm pack could not make the packages that the project depends on", {
      details: stderr.split("\n").filter((line) => line !== ""),
      cause: error,
    });
  }
}

function tarballName({ name, version }: Manifest): string {
  return `${name.replace("@", "").replace("/", "-")}-${version}.tgz`;
}
