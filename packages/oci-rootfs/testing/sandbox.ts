import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeTree } from "../src/base/remove-tree.ts";

/** A directory for one test, with a store, and with other files that must not change. */
export interface Sandbox extends Disposable {
  readonly dir: string;
  /** The directory of the store. */
  readonly store: string;
  /** A hash of everything outside the store. */
  outside(): string;
  /** Paths of the files in the store's `tmp`. */
  leftovers(): string[];
}

/** @param parent the parent directory; default the directory for temporary files */
export function sandbox(parent: string = tmpdir()): Sandbox {
  const dir = mkdtempSync(join(parent, "oci-rootfs-"));
  mkdirSync(join(dir, "sentinel"));
  writeFileSync(join(dir, "sentinel", "secret"), "untouched");
  writeFileSync(join(dir, "secret"), "untouched");
  const store = join(dir, "store");
  return {
    dir,
    store,
    outside: () => hashTree(dir, (path) => path !== store),
    leftovers() {
      try {
        return readdirSync(join(store, "tmp"), { recursive: true }).map(String);
      } catch (error) {
        // A worker removes a tree at the same time.
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return ["?"];
        throw error;
      }
    },
    [Symbol.dispose]() {
      removeTree(dir);
    },
  };
}

function hashTree(root: string, include: (path: string) => boolean): string {
  const hash = createHash("sha256");
  for (const line of listTree(root, include)) hash.update(`${line}\n`);
  return hash.digest("hex");
}

/** Every path with its type, mode and content, in order. Equal trees have equal lists. */
export function listTree(root: string, include: (path: string) => boolean = () => true): string[] {
  const lines: string[] = [];
  // One character per byte, because not all names are UTF-8.
  const bytes = (path: string): Buffer => Buffer.from(path, "latin1");
  const visit = (raw: string, name: string): void => {
    const path = bytes(raw);
    if (!include(path.toString())) return;
    const stats = lstatSync(path);
    const mode = (stats.mode & 0o7777).toString(8);
    if (stats.isDirectory()) {
      lines.push(`${name}/ ${mode}`);
      for (const child of readdirSync(path, "latin1").sort())
        visit(`${raw}/${child}`, name === "" ? child : `${name}/${child}`);
    } else if (stats.isSymbolicLink()) {
      lines.push(`${name} -> ${readlinkSync(path)}`);
    } else if (stats.isFile()) {
      lines.push(`${name} ${mode} ${JSON.stringify(readFileSync(path, "latin1").slice(0, 200))} ${stats.size}`);
    } else {
      lines.push(`${name} ${mode} ${stats.isFIFO() ? "fifo" : `device ${stats.rdev}`}`);
    }
  };
  visit(Buffer.from(root).toString("latin1"), "");
  return lines;
}
