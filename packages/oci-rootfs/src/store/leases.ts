import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { ImageError } from "../base/errors.ts";
import { makeFolder } from "../base/make-folder.ts";
import { mayBeRunning, ownName } from "../base/process-identity.ts";

/** What a process uses: an image by its manifest's digest, a layer by its folder, a blob by its digest. */
export type Lease = `image ${string}` | `layer ${string}` | `blob ${string}`;

/** A collector renames a few hundred folders under its lock, which takes milliseconds. */
const LOCK_WAIT_MS = 10_000;
const LOCK_STEP_MS = 2;
/** How often a lease shows, to those who cannot see the process, that there still is one. */
const TOUCH_MS = 60_000;
/** Half a megabyte, which a collector reads in a millisecond: a file of more lines is written anew. */
const MAX_LINES = 4096;

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
  readonly #temporaries: string;
  readonly #held = new Map<Lease, number>();
  #file: string | undefined;
  #lines = 0;
  /** Whether a write failed, so that the file may say more than is held, or end within a line. */
  #isStale = false;
  #touched = 0;

  constructor(dir: string) {
    this.#folder = join(dir, "leases");
    this.#lock = join(dir, "collecting");
    this.#temporaries = join(dir, "tmp");
  }

  /** From now on, nobody removes these; what of them is there after this call stays. If it throws, none is held by it. */
  hold(...leases: Lease[]): void {
    const fresh = new Set<Lease>();
    for (const lease of leases) {
      const count = this.#held.get(lease) ?? 0;
      this.#held.set(lease, count + 1);
      if (count === 0) fresh.add(lease);
    }
    try {
      this.#write([...fresh]);
      if (fresh.size > 0) this.#waitForCollector();
    } catch (error) {
      // What no collector can see must not pass for held when it is wanted next.
      this.#drop(leases);
      this.#isStale = true;
      throw error;
    }
  }

  /** Takes back one `hold` of each. If it throws, collectors still see them: the next call of either kind makes up for it. */
  release(...leases: Lease[]): void {
    this.#write(this.#drop(leases).map((lease) => `-${lease}`));
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

  /** @returns those that are not held any more */
  #drop(leases: readonly Lease[]): Lease[] {
    return leases.filter((lease) => {
      const count = this.#held.get(lease) ?? 0;
      if (count <= 1) return this.#held.delete(lease);
      this.#held.set(lease, count - 1);
      return false;
    });
  }

  /** Says what has changed, or all that is held. */
  #write(lines: readonly string[]): void {
    if (lines.length === 0 && !this.#isStale) return;
    try {
      if (this.#file === undefined) this.#writeAnew();
      else this.#change(this.#file, lines);
      this.#isStale = false;
      this.#touched = Date.now();
    } catch (error) {
      this.#isStale = true;
      throw error;
    }
  }

  // A process may live for months: what it has used and released must not make the file longer for ever.
  #change(file: string, lines: readonly string[]): void {
    // Many leases at once are no reason to write them again with every change.
    const tooLong = this.#lines + lines.length > Math.max(MAX_LINES, 2 * this.#held.size);
    try {
      if (this.#held.size === 0) {
        truncateSync(file);
        this.#lines = 0;
      } else if (this.#isStale || tooLong) {
        this.#writeAnew();
      } else {
        append(file, text(lines));
        this.#lines += lines.length;
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      // Somebody has removed the file, or its folder, or the whole store, which is not to come back for nothing.
      if (this.#held.size > 0) this.#writeAnew();
    }
  }

  /**
   * Replaces the file by one that says what is held, and nothing else. A collector that reads meanwhile sees the old file or the
   * new one, each whole, and both say all that was held before. What is held from now on waits for it, whichever it sees. The new
   * file is made outside the folder: a name there that goes away would fail a collector which has listed it.
   */
  #writeAnew(): void {
    makeFolder(this.#folder, 0o700);
    makeFolder(this.#temporaries, 0o700);
    this.#file ??= join(this.#folder, ownName());
    files.add(this.#file);
    const aside = join(this.#temporaries, ownName());
    try {
      writeFileSync(aside, text([...this.#held.keys()]), { mode: 0o600, flag: "wx" });
      renameSync(aside, this.#file);
    } catch (error) {
      rmSync(aside, { force: true });
      throw error;
    }
    this.#lines = this.#held.size;
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

/** Not to a new file: where ours has gone, all that we hold is to be written again, and not only what came last. */
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
