import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { Script } from "node:vm";

/** Uses of a program whose code is kept. More would make the file, which each start reads, larger than it helps. */
const MAX_USES = 8;

/** Files of earlier builds that stay: two checkouts can share a folder. */
const MAX_FILES = 4;

const DIGEST_BYTES = 32;

interface LoadedFile {
  readonly script: Script;
  /** The file with its compiled code. */
  readonly place: string;
  /** The uses whose code it has. */
  readonly uses: readonly string[];
}

/**
 * Loads CommonJS files with the code that V8 compiled in earlier runs. Node's compile cache holds what V8 compiles when
 * it loads a file. The functions that run later are compiled in each run again, which took a quarter of a render.
 *
 * @see https://v8.dev/blog/improved-code-caching
 */
export class CodeCache {
  readonly #folder: string;
  readonly #use: string;
  readonly #loaded: LoadedFile[] = [];

  /**
   * @param folder - only this user may be able to write there, because its content runs
   * @param use - names what this run does, such as its flags: other uses run other functions
   */
  constructor(folder: string, use: string) {
    this.#folder = folder;
    this.#use = use.replaceAll("\n", " ");
  }

  /** Runs a file and returns its exports. The file cannot import ES modules. */
  load(path: string): unknown {
    const source = readFileSync(path);
    // V8 compares only the length of the source.
    const key = sha256(source).toString("hex").slice(0, 16);
    const place = join(this.#folder, `${basename(path)}-${key}.code`);
    const saved = readCode(place);
    const script = new Script(
      `(function (exports, require, module, __filename, __dirname) {${source.toString("utf8")}\n})`,
      { filename: path, cachedData: saved?.code },
    );
    // Another version of Node, or other flags of V8, reject the code.
    const uses = saved === undefined || script.cachedDataRejected === true ? [] : saved.uses;
    this.#loaded.push({ script, place, uses });
    const module = { exports: {} };
    const run = script.runInThisContext() as (...scope: unknown[]) => void;
    run(module.exports, createRequire(path), module, path, dirname(path));
    return module.exports;
  }

  /** Saves the code that ran, if no earlier run had this use. A folder that cannot be written changes nothing. */
  save(): void {
    for (const { script, place, uses } of this.#loaded) {
      if (uses.includes(this.#use) || uses.length >= MAX_USES) continue;
      try {
        writeCode(place, [...uses, this.#use], script.createCachedData());
        this.#removeOld(place);
      } catch {
        // The next run compiles again.
      }
    }
  }

  #removeOld(place: string): void {
    const prefix = basename(place).replace(/[0-9a-f]{16}\.code$/, "");
    const age = (path: string): number => statSync(path).mtimeMs;
    const others = readdirSync(this.#folder)
      .filter((name) => name.startsWith(prefix) && name.endsWith(".code"))
      .map((name) => join(this.#folder, name))
      .toSorted((a, b) => age(b) - age(a));
    for (const path of others.slice(MAX_FILES)) rmSync(path, { force: true });
  }
}

/** Undefined if there is no such file, or a damaged one. V8 does not notice damage, and would run it. */
function readCode(place: string): { readonly uses: readonly string[]; readonly code: Buffer } | undefined {
  try {
    const content = readFileSync(place);
    const rest = content.subarray(DIGEST_BYTES);
    if (!sha256(rest).equals(content.subarray(0, DIGEST_BYTES))) return undefined;
    const end = rest.indexOf("\n\n");
    return { uses: rest.toString("utf8", 0, end).split("\n"), code: rest.subarray(end + 2) };
  } catch {
    return undefined;
  }
}

function writeCode(place: string, uses: readonly string[], code: Buffer): void {
  const rest = Buffer.concat([Buffer.from(`${uses.join("\n")}\n\n`), code]);
  const unfinished = `${place}.${process.pid}`;
  try {
    writeFileSync(unfinished, Buffer.concat([sha256(rest), rest]), { mode: 0o600, flag: "wx" });
    renameSync(unfinished, place);
  } finally {
    rmSync(unfinished, { force: true });
  }
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}
