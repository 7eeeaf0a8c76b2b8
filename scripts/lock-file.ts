// Checks two properties of package-lock.json that npm does not guarantee, and fixes them with --fix:
//
// 1. It must record no download address: `npm ci` would use it, and mirrors differ from machine to machine.
// 2. Every optional dependency, such as a tool's build for another platform, must have an entry. If a registry does not
//    serve it, npm silently drops it from the lock file. Then `npm ci` rejects the file everywhere.
//
// Usage: node scripts/lock-file.ts [--fix]
import { readFileSync, writeFileSync } from "node:fs";

interface LockEntry {
  version?: string;
  resolved?: string;
  link?: boolean;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

const OS = new Map([
  ...["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"].map(same),
  ["windows", "win32"] as const,
]);
const CPU = new Map([
  ...["arm", "arm64", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32", "x64"].map(same),
  ["64", "x64"] as const,
  ["armv7", "arm"] as const,
]);
const LIBC = new Map([
  ["gnu", "glibc"],
  ["gnueabihf", "glibc"],
  ["musl", "musl"],
  ["musleabihf", "musl"],
]);

function same(name: string): readonly [string, string] {
  return [name, name];
}

// Reads the platform from the package's name, which is the only source if the registry does not know the package.
function platformEntry(name: string, version: string, parent: LockEntry): LockEntry {
  const words = name.split(/[/-]/);
  const pick = (table: ReadonlyMap<string, string>): string | undefined => {
    const word = words.findLast((candidate) => table.has(candidate));
    return word === undefined ? undefined : table.get(word);
  };
  const os = pick(OS);
  const cpu = pick(CPU);
  const libc = pick(LIBC);
  if (cpu === undefined) throw new Error(`${name}: cannot derive the platform from the name; add the entry by hand`);
  return {
    version,
    cpu: [cpu],
    ...(parent.dev === true ? { dev: true } : {}),
    ...(libc === undefined ? {} : { libc: [libc] }),
    optional: true,
    ...(os === undefined ? {} : { os: [os] }),
  };
}

const path = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(path, "utf8")) as { packages: Record<string, LockEntry> };
const problems: string[] = [];

for (const [key, entry] of Object.entries(lock.packages)) {
  if (entry.resolved !== undefined && entry.link !== true) {
    problems.push(`${key} records where it came from: ${entry.resolved}`);
    delete entry.resolved;
  }
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (`node_modules/${name}` in lock.packages || `${key}/node_modules/${name}` in lock.packages) continue;
    problems.push(`${key}: no entry for its optional dependency ${name}`);
    lock.packages[`node_modules/${name}`] = platformEntry(name, version.replace(/^[~^]/, ""), entry);
  }
}

if (problems.length === 0) process.exit(0);
if (process.argv[2] === "--fix") {
  lock.packages = Object.fromEntries(Object.entries(lock.packages).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
  console.error(`package-lock.json: fixed ${problems.length} entries`);
} else {
  console.error(`package-lock.json:\n  ${problems.join("\n  ")}\nrun: npm run lock`);
  process.exit(1);
}
