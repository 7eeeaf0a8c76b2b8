import { lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { BuildEntry } from "@xfn/oci-rootfs";

// On a merged-/usr system these are links, and programs name both forms.
const TOP_LEVEL = /^\/(?:s?bin|lib(?:32|64|x32)?)(?=\/|$)/;
// `/etc/alternatives` needs two steps; a longer chain is a circle.
const MAX_LINKS = 10;

/**
 * A root file system that is put together from files of this machine, at the places where programs look for them. The
 * machine's own top-level links (`/lib -> usr/lib`) are kept and followed, so that no path leads through a link.
 */
export class RootTree {
  readonly #entries = new Map<string, BuildEntry>();

  /** All entries, in no particular order. */
  entries(): readonly BuildEntry[] {
    return [...this.#entries.values()];
  }

  has(path: string): boolean {
    return this.#entries.has(this.#place(path));
  }

  folder(path: string, mode: number): void {
    this.#put(path, (place) => ({ path: place, directory: true, mode }));
  }

  text(path: string, content: string): void {
    this.#put(path, (place) => ({ path: place, content }));
  }

  bytes(path: string, content: Uint8Array): void {
    this.#put(path, (place) => ({ path: place, content }));
  }

  link(path: string, target: string): void {
    this.#put(path, (place) => ({ path: place, link: target }));
  }

  /** A file of this machine, what its links point at included; at `path` where that is another place. */
  file(source: string, path: string = source): void {
    const mode = (statSync(source).mode & 0o111) === 0 ? 0o644 : 0o755;
    this.#put(path, (place) => ({ path: place, source: realpathSync(source), mode }));
  }

  /** A program of this machine at its own path, its links kept (`awk -> /etc/alternatives/awk -> mawk`). */
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

  #put(path: string, entry: (place: string) => BuildEntry): void {
    const place = this.#place(path);
    this.#entries.set(place, entry(place));
  }

  #place(path: string): string {
    const top = TOP_LEVEL.exec(path)?.[0];
    if (top === undefined || lstatSync(top, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return path;
    const target = readlinkSync(top);
    this.#entries.set(top, { path: top, link: target });
    return join(resolve("/", target), path.slice(top.length));
  }
}
