import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { downloads, run } from "./downloads.ts";

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity: string }>>;
}

/** Downloads a package as pinned by a lock file, also one for another platform. @returns its folder */
export function npmPackage(lock: URL, name: string): string {
  const { version, integrity } = locked(lock, name);
  const folder = join(downloads(), `${name.replace("/", "+")}-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(downloads(), { recursive: true });
  const aside = mkdtempSync(join(downloads(), "npm-"));
  try {
    const packed = run("npm", ["pack", "--json", "--loglevel=error", `${name}@${version}`], aside);
    const [{ filename }] = JSON.parse(packed) as [{ filename: string }];
    const tarball = join(aside, filename);
    const actual = `sha512-${createHash("sha512").update(readFileSync(tarball)).digest("base64")}`;
    if (actual !== integrity) throw new Error(`${name}@${version}: the integrity is ${actual}, not ${integrity}`);
    run("tar", ["-xzf", tarball], aside);
    renameSync(join(aside, "package"), folder);
    return folder;
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

function locked(lock: URL, name: string): Lock["packages"][string] {
  const entry = (JSON.parse(readFileSync(lock, "utf8")) as Lock).packages[`node_modules/${name}`];
  if (entry === undefined) throw new Error(`${lock.pathname} has no ${name}`);
  return entry;
}
