import { closest } from "@xfn/composition";
import { usageError } from "../errors/cli-error.ts";
import { sourcesOf } from "../validate/read-sources.ts";

/** The kinds of `--kinds`, as `Kind` or `Kind.group`. None selects all. */
export class KindSelection {
  readonly #missing: Set<string>;
  readonly #seen = new Set<string>();
  readonly #all: boolean;
  readonly #kinds: ReadonlySet<string>;

  /** @param list separated by commas */
  constructor(list = "") {
    const kinds = sourcesOf(list);
    this.#all = kinds.length === 0;
    this.#kinds = new Set(kinds);
    this.#missing = new Set(kinds);
  }

  /** The flag that gives this selection. */
  get flag(): readonly string[] {
    return this.#all ? [] : ["--kinds", [...this.#kinds].join(",")];
  }

  has({ kind, group }: { readonly kind: string; readonly group: string }): boolean {
    const full = `${kind}.${group}`;
    this.#seen.add(kind).add(full);
    for (const name of [kind, full]) this.#missing.delete(name);
    return this.#all || this.#kinds.has(kind) || this.#kinds.has(full);
  }

  checkFound(): void {
    const [missing] = this.#missing;
    if (missing === undefined) return;
    const meant = closest(missing, this.#seen);
    throw usageError(
      `--kinds: no definition has the kind ${missing}${meant === undefined ? "" : `; did you mean ${meant}?`}`,
    );
  }
}
