import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { ImageError } from "../base/errors.ts";
import { isLocked, removeAbandonedLock, takeLock } from "../base/link-lock.ts";
import { makeFolder } from "../base/make-folder.ts";
import { mayBeRunning, ownName } from "../base/process-identity.ts";

/** Something in use: an image by its manifest's digest, a layer by its directory, or a blob by its digest. */
export type Lease = `image ${string}` | `layer ${string}` | `blob ${string}`;

/** A collector renames a few hundred directories under its lock, which takes milliseconds. */
const LOCK_WAIT_MS = 10_000;
const LOCK_STEP_MS = 2;
/** The interval of updates to the file's time, for collectors in other PID namespaces that cannot see the process. */
const TOUCH_MS = 60_000;
/** A longer file is rewritten. A collector reads this one, of half a megabyte, in a millisecond. */
const MAX_LINES = 4096;

const files = new Set<string>();

// The file of a killed process stays, but collectors ignore leases of processes that have exited.
process.on("exit", () => {
  for (const file of files) rmSync(file, { force: true });
});

/**
 * The leases of this process on the contents of a store. They are in a file, and valid while the process runs.
 *
 * Users of images need no lock. A user writes its lease, waits while a collector runs, and then checks whether the
 * content exists. A collector acquires the lock, reads the leases, and then renames content. So either the collector
 * sees the lease, or the user sees that the content is missing.
 */
export class Leases {
  readonly #folder: string;
  readonly #lock: string;
  readonly #temporaries: string;
  /** The number of acquisitions of each lease. */
  readonly #counts = new Map<Lease, number>();
  #file: string | undefined;
  #lines = 0;
  /** Whether a write failed, so that the file may have too many leases, or end within a line. */
  #isStale = false;
  #touched = 0;

  constructor(dir: string) {
    this.#folder = join(dir, "leases");
    this.#lock = join(dir, "collecting");
    this.#temporaries = join(dir, "tmp");
  }

  /** Acquires leases: content that exists after this call stays. If it throws, it has acquired none. */
  acquire(...leases: Lease[]): void {
    const fresh = new Set<Lease>();
    for (const lease of leases) {
      const count = this.#counts.get(lease) ?? 0;
      this.#counts.set(lease, count + 1);
      if (count === 0) fresh.add(lease);
    }
    try {
      this.#write([...fresh]);
      if (fresh.size > 0) this.#waitForCollector();
    } catch (error) {
      // A lease that no collector can see must not count as acquired in the next call.
      this.#drop(leases);
      this.#isStale = true;
      throw error;
    }
  }

  /**
   * Releases leases, once for each `acquire`. If it throws, collectors still see them until the next successful call.
   */
  release(...leases: Lease[]): void {
    this.#write(this.#drop(leases).map((lease) => `-${lease}`));
  }

  /** Acquires a lease unless this process has it, until `release` or the end of the process. */
  ensure(lease: Lease): void {
    if (this.#counts.has(lease)) this.#touch();
    else this.acquire(lease);
  }

  /**
   * Runs `work` while no process can start using content. `work` receives all leases, including those of this
   * process.
   */
  collect<T>(work: (inUse: ReadonlySet<string>) => T): T {
    this.#waitForCollector(() => takeLock(this.#lock));
    try {
      return work(this.#inUse());
    } finally {
      rmSync(this.#lock, { force: true });
    }
  }

  /** @returns the leases whose last acquisition was released */
  #drop(leases: readonly Lease[]): Lease[] {
    return leases.filter((lease) => {
      const count = this.#counts.get(lease) ?? 0;
      if (count <= 1) return this.#counts.delete(lease);
      this.#counts.set(lease, count - 1);
      return false;
    });
  }

  /** Writes the changes, or all leases. */
  #write(lines: readonly string[]): void {
    if (lines.length === 0 && !this.#isStale) return;
    try {
      if (this.#file === undefined) this.#rewrite();
      else this.#change(this.#file, lines);
      this.#isStale = false;
      this.#touched = Date.now();
    } catch (error) {
      this.#isStale = true;
      throw error;
    }
  }

  // A process may run for months. Released leases must not make the file grow without bound.
  #change(file: string, lines: readonly string[]): void {
    // The bound depends on the number of leases, so that many leases do not cause a rewrite for every change.
    const tooLong = this.#lines + lines.length > Math.max(MAX_LINES, 2 * this.#counts.size);
    try {
      if (this.#counts.size === 0) {
        truncateSync(file);
        this.#lines = 0;
      } else if (this.#isStale || tooLong) {
        this.#rewrite();
      } else {
        append(file, text(lines));
        this.#lines += lines.length;
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      // The file, its directory or the whole store was removed. It is recreated only if it is needed.
      if (this.#counts.size > 0) this.#rewrite();
    }
  }

  /**
   * Replaces the file by one with only the current leases. A concurrent collector reads the old or the new file, and
   * both contain all earlier leases. New leases wait for that collector in either case. The new file is created
   * outside the directory, because a collector that lists it must not find a file that disappears.
   */
  #rewrite(): void {
    makeFolder(this.#folder, 0o700);
    makeFolder(this.#temporaries, 0o700);
    this.#file ??= join(this.#folder, ownName());
    files.add(this.#file);
    const aside = join(this.#temporaries, ownName());
    try {
      writeFileSync(aside, text([...this.#counts.keys()]), { mode: 0o600, flag: "wx" });
      renameSync(aside, this.#file);
    } catch (error) {
      rmSync(aside, { force: true });
      throw error;
    }
    this.#lines = this.#counts.size;
  }

  #touch(): void {
    if (this.#file === undefined || Date.now() - this.#touched < TOUCH_MS) return;
    this.#touched = Date.now();
    try {
      utimesSync(this.#file, new Date(), new Date());
    } catch {
      // The store was removed. The next use reports it.
    }
  }

  #waitForCollector(take: () => boolean = () => !isLocked(this.#lock)): void {
    for (let waited = 0; !take(); waited += LOCK_STEP_MS) {
      if (removeAbandonedLock(this.#lock)) continue;
      if (waited >= LOCK_WAIT_MS) {
        const message = `another process is pruning the store; if no process is, remove ${this.#lock}`;
        throw new ImageError("StoreFailed", message, { retryable: true });
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_STEP_MS);
    }
  }

  #inUse(): Set<string> {
    const inUse = new Set<string>(this.#counts.keys());
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

/** Fails if the file does not exist, because a new file must contain all leases and not only the latest. */
function append(file: string, content: string): void {
  const descriptor = openSync(file, constants.O_WRONLY | constants.O_APPEND);
  try {
    writeFileSync(descriptor, content);
  } finally {
    closeSync(descriptor);
  }
}

function text(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}
