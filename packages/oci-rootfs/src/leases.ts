import {
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { ImageError } from "./errors.ts";
import { makeFolder } from "./make-folder.ts";
import { mayBeRunning, ownName } from "./process-identity.ts";

/** What a process uses: an image by its manifest's digest, a layer by its folder, a blob by its digest. */
export type Lease = `image ${string}` | `layer ${string}` | `blob ${string}`;

/** A collector renames a few hundred folders under its lock, which takes milliseconds. */
const LOCK_WAIT_MS = 10_000;
const LOCK_STEP_MS = 2;
/** How often a lease shows, to those who cannot see the process, that there still is one. */
const TOUCH_MS = 60_000;

const files = new Set<string>();

// What is left by one that is killed is as good as gone: nobody believes the lease of a process that has ended.
process.on("exit", () => {
  for (const file of files) rmSync(file, { force: true });
});

/**
 * What this process uses of a store, for the collectors of others: a file of its own, which counts for as long as the process
 * lives.
 *
 * No lock is held by those who use images. A user writes its lease, waits while a collector is at work, and then looks whether
 * the thing is there; a collector takes the lock, reads the leases, and then moves things away. So either the collector sees the
 * lease, or the user sees that the thing has gone.
 */
export class Leases {
  readonly #folder: string;
  readonly #lock: string;
  readonly #held = new Map<Lease, number>();
  #file: string | undefined;
  #touched = 0;

  constructor(dir: string) {
    this.#folder = join(dir, "leases");
    this.#lock = join(dir, "collecting");
  }

  /** From now on, nobody removes these; what of them is there after this call stays. */
  hold(...leases: Lease[]): void {
    const fresh: Lease[] = [];
    for (const lease of leases) {
      const count = this.#held.get(lease) ?? 0;
      this.#held.set(lease, count + 1);
      if (count === 0) fresh.push(lease);
    }
    this.#write(fresh, "a");
    if (fresh.length > 0) this.#waitForCollector();
  }

  /** Takes back one `hold` of each. */
  release(...leases: Lease[]): void {
    const gone: string[] = [];
    for (const lease of leases) {
      const count = this.#held.get(lease) ?? 0;
      if (count > 1) this.#held.set(lease, count - 1);
      else if (this.#held.delete(lease)) gone.push(`-${lease}`);
    }
    // A process may live for months: what it has used and released must not make the file longer for ever.
    if (gone.length > 0 && this.#held.size === 0) this.#write([], "w");
    else this.#write(gone, "a");
  }

  /** Holds something until the process ends, or releases it; cheap when it is held already. */
  keep(lease: Lease): void {
    if (this.#held.has(lease)) this.#touch();
    else this.hold(lease);
  }

  /** Does something while nobody begins to use anything. `work` is told what is in use, by this process as well. */
  collect<T>(work: (inUse: ReadonlySet<string>) => T): T {
    const name = ownName();
    this.#waitForCollector(() => {
      try {
        // A link that leads nowhere is made with its content or not at all, whenever the process is killed.
        symlinkSync(name, this.#lock);
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
        throw error;
      }
    });
    try {
      return work(this.#inUse());
    } finally {
      rmSync(this.#lock, { force: true });
    }
  }

  #write(lines: readonly string[], how: "a" | "w"): void {
    if (lines.length === 0 && how === "a") return;
    if (this.#file === undefined) {
      makeFolder(this.#folder, 0o700);
      this.#file = join(this.#folder, ownName());
      files.add(this.#file);
    }
    const descriptor = openSync(this.#file, how, 0o600);
    try {
      writeSync(descriptor, lines.map((line) => `${line}\n`).join(""));
    } finally {
      closeSync(descriptor);
    }
    this.#touched = Date.now();
  }

  #touch(): void {
    if (this.#file === undefined || Date.now() - this.#touched < TOUCH_MS) return;
    this.#touched = Date.now();
    try {
      utimesSync(this.#file, new Date(), new Date());
    } catch {
      // Somebody has removed the store under us: the next use will say so.
    }
  }

  #waitForCollector(take: () => boolean = () => !this.#isTaken()): void {
    for (let waited = 0; !take(); waited += LOCK_STEP_MS) {
      if (this.#isAbandoned()) {
        rmSync(this.#lock, { force: true });
      } else if (waited >= LOCK_WAIT_MS) {
        const way = `if none is, remove ${this.#lock}`;
        throw new ImageError("StoreFailed", `another process is collecting in the store; ${way}`, { retryable: true });
      } else {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_STEP_MS);
      }
    }
  }

  #isTaken(): boolean {
    return lstatSync(this.#lock, { throwIfNoEntry: false }) !== undefined;
  }

  #isAbandoned(): boolean {
    try {
      return !mayBeRunning(readlinkSync(this.#lock), this.#lock);
    } catch {
      return false;
    }
  }

  #inUse(): Set<string> {
    const inUse = new Set<string>(this.#held.keys());
    for (const name of existsSync(this.#folder) ? readdirSync(this.#folder) : []) {
      const path = join(this.#folder, name);
      if (path === this.#file) continue;
      if (!mayBeRunning(name, path)) {
        rmSync(path, { force: true });
        continue;
      }
      const theirs = new Set<string>();
      for (const line of readFileSync(path, "utf8").split("\n")) {
        if (line.startsWith("-")) theirs.delete(line.slice(1));
        else if (line !== "") theirs.add(line);
      }
      for (const lease of theirs) inUse.add(lease);
    }
    return inUse;
  }
}
