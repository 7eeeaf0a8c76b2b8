import { lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { BuildEntry } from "@xfn/oci-rootfs";

// These are links on a merged-/usr system, and programs name both forms.
const TOP_LEVEL = /^\/(?:s?bin|lib(?:32|64|x32)?)(?=\/|$)/;
// `/etc/alternatives` takes two links; a longer chain is a cycle.
const MAX_LINKS = 10;

/**
 * A root filesystem of files of this machine, at the paths where programs look for them. Keeps and resolves the
 * machine's top-level links (`/lib -> usr/lib`), so that no entry's path leads through a link.
 */
export class RootTree {
  readonly #entries = new Map<string, BuildEntry>();

  /** All entries, in any order. */
  entries(): readonly BuildEntry[] {
    return [...this.#entries.values()];
  }

  has(path: string): boolean {
    return this.#entries.has(this.#resolve(path));
  }

  folder(path: string, mode: number): void {
    this.#put(path, (at) => ({ path: at, directory: true, mode }));
  }

  text(path: string, content: string): void {
    this.#put(path, (at) => ({ path: at, content }));
  }

  bytes(path: string, content: Uint8Array): void {
    this.#put(path, (at) => ({ path: at, content }));
  }

  link(path: string, target: string): void {
    this.#put(path, (at) => ({ path: at, link: target }));
  }

  /** Adds a file of this machine, or the target of a link, at `path`. */
  file(source: string, path: string = source): void {
    const mode = (statSync(source).mode & 0o111) === 0 ? 0o644 : 0o755;
    this.#put(path, (at) => ({ path: at, source: realpathSync(source), mode }));
  }

  /** Adds a program of this machine with its chain of links (`awk -> /etc/alternatives/awk -> mawk`). */
  program(path: string, links: number = MAX_LINKS): void {
    if (this.has(path) || links === 0) return;
    const onHost = join(realpathSync(dirname(path)), basename(path));
    if (!lstatSync(onHost).isSymbolicLink()) {
      this.file(path);
      return;
    }
    const target = resolve(dirname(onHost), readlinkSync(onHost));
    this.link(path, target);
    this.program(target, links - 1);
  }

  #put(path: string, entry: (path: string) => BuildEntry): void {
    const resolved = this.#resolve(path);
    this.#entries.set(resolved, entry(resolved));
  }

  #resolve(path: string): string {
    const top = TOP_LEVEL.exec(path)?.[0];
    if (top === undefined || lstatSync(top, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return path;
    const target = readlinkSync(top);
    this.#entries.set(top, { path: top, link: target });
    return join(resolve("/", target), path.slice(top.length));
  }
}
