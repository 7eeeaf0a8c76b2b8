// The files of the images' base that come from Debian packages. debian.json pins the packages; pin-debian.ts renews it.
import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, renameSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BuildEntry } from "@xfn/oci-rootfs";
import { downloads, run } from "./downloads.ts";

/** Debian's names. */
export const ARCHITECTURES = ["amd64", "arm64"] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

/** The libraries of Node. */
const OF_NODE = ["libc6", "libgcc-s1", "libstdc++6"];
/** The programs that start containers, and their libraries. */
const OF_RUNNER = ["crun", "libcap2", "libseccomp2", "libsystemd0", "libyajl2", "util-linux"];
export const PACKAGES: readonly string[] = [...OF_NODE, ...OF_RUNNER];

export const LOCK = fileURLToPath(new URL("debian.json", import.meta.url));

export interface LockedPackage {
  /** In Debian's archive. */
  readonly path: string;
  readonly sha256: string;
}

/** No converters of character sets and no tools: libraries, two programs, and licenses. */
const KEPT =
  /^usr\/(?:lib(?:64)?\/(?:[^/]+-linux-gnu\/)?[^/]+\.so[.\d]*|bin\/(?:crun|unshare)|share\/doc\/[^/]+\/copyright)$/;

/** The files of the packages for Node, or of those that the runner needs besides. */
export function debianEntries(architecture: Architecture, set: "node" | "runner"): BuildEntry[] {
  const names = new Set(set === "node" ? OF_NODE : OF_RUNNER);
  const lock = JSON.parse(readFileSync(LOCK, "utf8")) as Record<Architecture, readonly LockedPackage[]>;
  return lock[architecture].filter(({ path }) => names.has(nameOf(path))).flatMap(filesOf);
}

function nameOf(path: string): string {
  return path.replace(/^.*\//, "").replace(/_.*$/, "");
}

function filesOf({ path, sha256 }: LockedPackage): BuildEntry[] {
  const archive = fetchPackage(path, sha256);
  const folder = `${archive}-files`;
  if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) {
    const aside = mkdtempSync(`${folder}-`);
    run("dpkg-deb", ["--extract", archive, aside]);
    renameSync(aside, folder);
  }
  const entries = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => KEPT.test(name))
    .map((name): BuildEntry => {
      const source = join(folder, name);
      const stat = lstatSync(source);
      if (stat.isSymbolicLink()) return { path: `/${name}`, link: readlinkSync(source) };
      return { path: `/${name}`, source, mode: stat.mode & 0o755 };
    });
  // Scanners find packages here in images without dpkg.
  const status = run("dpkg-deb", ["--field", archive]);
  return [...entries, { path: `/var/lib/dpkg/status.d/${nameOf(path)}`, content: status }];
}

function fetchPackage(path: string, sha256: string): string {
  const target = join(downloads(), `${sha256}.deb`);
  if (hashOf(target) === sha256) return target;
  mkdirSync(downloads(), { recursive: true });
  const aside = `${target}-${process.pid}`;
  run("/usr/lib/apt/apt-helper", ["download-file", `${debianMirror()}${path}`, aside]);
  const actual = hashOf(aside);
  if (actual !== sha256) throw new Error(`${path}: the SHA-256 is ${actual}, but debian.json has ${sha256}`);
  renameSync(aside, target);
  return target;
}

function hashOf(path: string): string | undefined {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

/** The machine's own mirror of Debian's archive. XFN_DEBIAN_MIRROR is for other systems that have apt. */
export function debianMirror(): string {
  const given = process.env["XFN_DEBIAN_MIRROR"];
  if (given) return `${given.replace(/\/+$/, "")}/`;
  const targets = run("apt-get", ["indextargets", "--format", "$(ORIGIN) $(LABEL) $(REPO_URI)"]);
  const [, mirror] = /^Debian Debian (\S+)$/m.exec(targets) ?? [];
  if (mirror === undefined)
    throw new Error("apt has no list of a Debian mirror: run apt-get update, or set XFN_DEBIAN_MIRROR");
  return mirror;
}
