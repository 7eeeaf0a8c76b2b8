// Checks package-lock.json, and with --fix mends it, in the two respects that npm leaves to chance:
//
// 1. It must record no download address: mirrors differ from machine to machine, and `npm ci` would use the recorded one.
// 2. Every optional dependency (the builds of a tool for other platforms) must have an entry. Where a registry does not
//    serve one of them, npm drops it from the lock file without a word, and then `npm ci` refuses the file everywhere.
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

// The platform is read from the package's name, the only place that says it when the registry does not know the package.
function platformEntry(name: string, version: string, parent: LockEntry): LockEntry {
  const words = name.split(/[/-]/);
  const pick = (table: ReadonlyMap<string, string>): string | undefined => {
    const word = words.findLast((candidate) => table.has(candidate));
    return word === undefined ? undefined : table.get(word);
  };
  const os = pick(OS);
  const cpu = pick(CPU);
  const libc = pick(LIBC);
  if (cpu === undefined) throw new Error(`${name}: its name does not say for which platform it is; add it by hand`);
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
  console.error(`package-lock.json: mended ${problems.length} entries`);
} else {
  console.error(`package-lock.json:\n  ${problems.join("\n  ")}\nrun: npm run lock`);
  process.exit(1);
}
