import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import dockerIgnore from "@balena/dockerignore";
import { InputError, unreadable } from "@xfn/input";
import gitIgnore from "ignore";

/** Why a file is left out: by default, as it is hidden, or by the file of this name. */
export type IgnoredBy = "default" | "hidden" | ".dockerignore" | ".gitignore";

// Longer lists are not lists of patterns, and their evaluation would take long.
const MAX_BYTES = 256 * 1024;
// A name with a dot first: .env, .npmrc, .ssh, .aws and .docker have credentials.
const HIDDEN = ["**/.*"];
// Not part of a function: installed packages, tests, files of Python and of editors.
const TESTS = ["test", "spec"].flatMap((word) =>
  ["js", "ts"].flatMap((end) => [`*.${word}.${end}`, `*.${word}.[cm]${end}`]),
);
const NAMES =
  "node_modules test tests __tests__ testdata __pycache__ *_test.go *_test.py test_*.py *.pyc *~ " +
  ".DS_Store .gitignore .dockerignore";
const DEFAULTS = [...NAMES.split(" "), ...TESTS].map((pattern) => `**/${pattern}`);

const byDefault = dockerIgnore.default().add(DEFAULTS);

/** Whether an image leaves out this relative path, with `/`, unless `.dockerignore` includes it again. */
export function isLeftOutByDefault(path: string): boolean {
  return byDefault.ignores(path);
}

/** The `.gitignore` of a folder that contains the function's folder. */
interface OuterRules {
  readonly rules: ReturnType<typeof gitIgnore>;
  /** The function's folder, relative to that folder, with `/`. */
  readonly folder: string;
}

/**
 * The files that an image leaves out of a folder. Hidden files, installed packages and tests stay out unless
 * `.dockerignore` includes them again (`!.config`, `!node_modules`).
 * A `.dockerignore` replaces the `.gitignore` files, as it is about images: build results are often in `.gitignore`.
 * The `.gitignore` files of outer folders apply up to the top of the git work tree, as in git.
 */
export class IgnoreRules {
  readonly #dir: string;
  readonly #docker: ReturnType<typeof dockerIgnore.default> | undefined;
  readonly #includes: boolean;
  readonly #outer: readonly OuterRules[];
  readonly #git: Map<string, ReturnType<typeof gitIgnore>> = new Map();

  constructor(dir: string) {
    this.#dir = dir;
    const text = patterns(join(dir, ".dockerignore"));
    this.#docker =
      text === undefined
        ? undefined
        : dockerIgnore
            .default()
            .add([...HIDDEN, ...DEFAULTS])
            .add(text);
    this.#outer = this.#docker === undefined ? outerRules(dir) : [];
    this.#includes = /^\s*!/m.test(text ?? "");
  }

  /** @param path relative to the folder, with `/` */
  ignores(path: string, isFolder: boolean): IgnoredBy | undefined {
    if (this.#docker?.ignores(path) === false) return undefined;
    if (isLeftOutByDefault(path)) return "default";
    if (path.split("/").some((name) => name.startsWith("."))) return "hidden";
    if (this.#docker !== undefined) return ".dockerignore";
    return this.#byGit(isFolder ? `${path}/` : path) ? ".gitignore" : undefined;
  }

  /** Whether a folder that is ignored can contain files that are not. */
  get mayIncludeAgain(): boolean {
    return this.#includes;
  }

  /** The patterns of a folder apply below it, and those of inner folders come last. */
  #byGit(path: string): boolean {
    const parts = path.split("/");
    let ignored = false;
    const apply = (rules: ReturnType<typeof gitIgnore>, inside: string): void => {
      const verdict = rules.test(inside);
      if (verdict.ignored) ignored = true;
      else if (verdict.unignored) ignored = false;
    };
    for (const { rules, folder } of this.#outer) apply(rules, `${folder}/${path}`);
    for (let depth = 0; depth < parts.length - (path.endsWith("/") ? 1 : 0); depth++)
      apply(this.#gitIn(parts.slice(0, depth).join("/")), parts.slice(depth).join("/"));
    return ignored;
  }

  #gitIn(folder: string): ReturnType<typeof gitIgnore> {
    const known = this.#git.get(folder);
    if (known !== undefined) return known;
    const text = patterns(join(this.#dir, folder, ".gitignore"));
    const rules = gitIgnore().add(text ?? "");
    this.#git.set(folder, rules);
    return rules;
  }
}

/** The rules of the outer folders, the outermost first. None outside a git work tree. */
function outerRules(dir: string): readonly OuterRules[] {
  const found: OuterRules[] = [];
  let folder = "";
  for (let at = resolve(dir); !existsSync(join(at, ".git")); ) {
    const parent = dirname(at);
    if (parent === at) return [];
    folder = folder === "" ? basename(at) : `${basename(at)}/${folder}`;
    at = parent;
    const text = patterns(join(at, ".gitignore"));
    if (text !== undefined) found.unshift({ rules: rulesBelow(text, folder), folder });
  }
  return found;
}

/** Without the patterns that ignore the folder itself: its author builds it nevertheless. */
function rulesBelow(text: string, folder: string): ReturnType<typeof gitIgnore> {
  const isAbout = (line: string): boolean => gitIgnore().add(line).ignores(`${folder}/`);
  return gitIgnore().add(text.split(/\r?\n/).filter((line) => !isAbout(line)));
}

function patterns(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isFile() !== true) return undefined;
  if (stat.size > MAX_BYTES)
    throw new InputError(`${path} is larger than ${MAX_BYTES} bytes: is it a list of patterns?`);
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw unreadable(path, error);
  }
}
