import { existsSync } from "node:fs";
import { join } from "node:path";

/** A WebAssembly module: a file, or a folder that a compiler makes one from. */
export interface ModuleSource {
  readonly kind: "module";
  readonly dir: string;
  /** The module, relative to `dir`, or the file that the compiler is known by. */
  readonly entry: string;
  /** Absent for a module that is compiled. */
  readonly language?: ModuleLanguage;
}

/** The languages whose compilers `xfn build` runs. */
export type ModuleLanguage = "go" | "rust" | "assemblyscript";

const LANGUAGES: readonly (readonly [file: string, language: ModuleLanguage])[] = [
  ["go.mod", "go"],
  ["Cargo.toml", "rust"],
  ["asconfig.json", "assemblyscript"],
];

/** The source of a module in a folder; undefined if there is none. */
export function moduleSource(dir: string): ModuleSource | undefined {
  const found = LANGUAGES.find(([file]) => existsSync(join(dir, file)));
  return found && { kind: "module", dir, entry: found[0], language: found[1] };
}
