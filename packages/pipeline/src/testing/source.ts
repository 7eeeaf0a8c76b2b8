import { readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { dirname, extname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { documentOf } from "@xfn/composition";
import { messageOf } from "@xfn/errors";
import { isObject, type JsonObject, type JsonValue, MAX_TEXT_BYTES } from "@xfn/json";
import { type ParsedDocument, readDocuments, unwrapLists } from "@xfn/json/document";
import { printJson } from "@xfn/json/text";
import { TestingError } from "./testing-error.ts";

/**
 * The source of a document. A string is YAML or JSON text, never a path. A `file:` URL is a file, or a folder of
 * `.yaml`, `.yml` and `.json` files (see {@link beside}). Any other object is the document itself.
 */
export type Source = string | URL | object;

/** A folder with more files is probably a mistake, such as a checkout. */
const MAX_FILES = 1000;
const EXTENSIONS: readonly string[] = [".yaml", ".yml", ".json"];

/**
 * Names files in the test's folder: after `const file = beside(import.meta.url)`, `file("xr.yaml")` is the URL of such
 * a file, independent of the current directory. Absolute paths stay unchanged.
 *
 * @param base the test's `import.meta.url`
 * @throws {TestingError} `InvalidInput` if it is not a file, as in a browser
 */
export function beside(base: string | URL): (path: string) => URL {
  if (!String(base).startsWith("file:")) throw invalid(`beside needs a file: URL, such as import.meta.url of a test`);
  const folder = dirname(fileURLToPath(base));
  return (path) => pathToFileURL(resolve(folder, path));
}

/**
 * All documents of a source. A list is a list of sources. Lists of objects (`kind: List`) are replaced by their items.
 *
 * @param what the expected document, for messages
 * @throws {TestingError} `InvalidInput`
 * @throws {DocumentError} with line and column
 */
export function readSource(source: Source | readonly Source[], what: string): ParsedDocument[] {
  return unwrapLists(readWritten(source, what));
}

function readWritten(source: Source | readonly Source[], what: string): ParsedDocument[] {
  if (typeof source === "string") return readText(source, what);
  if (typeof source !== "object" || source === null) throw invalid(`${what} is needed, found ${typeof source}`);
  if (Array.isArray(source)) return source.flatMap((one: Source, index) => readSource(one, `${what}[${index}]`));
  if (isUrl(source)) return readUrl(source, what);
  return [documentOf(plain(source, what), what)];
}

/** The single object of a source. */
export function readObject(source: Source, what: string): JsonObject {
  const [document, second] = readSource(source, what);
  if (document === undefined) throw invalid(`${what} is empty`);
  if (second !== undefined) throw invalid(`${document.source ?? what} holds several documents; ${what} is one`);
  return document.value as JsonObject;
}

/**
 * The object of a kind in a source with possibly several. The kind of a single document is not checked: its reader
 * reports a better error.
 */
export function readKind(source: Source, kind: string, what: string): ParsedDocument {
  const documents = readSource(source, what);
  const [found, second] = documents.filter(({ value }) => isObject(value) && value["kind"] === kind);
  const document = found ?? (documents.length === 1 ? documents[0] : undefined);
  if (document === undefined) throw invalid(`${documents[0]?.source ?? what} holds no document of kind ${kind}`);
  if (second !== undefined) throw invalid(`${second.source ?? what} holds more than one ${kind}; a test needs one`);
  return document;
}

/** The base folder of relative paths in a source; undefined if the source is not a file. */
export function folderOf(source: Source): string | undefined {
  if (typeof source !== "object" || !isUrl(source)) return undefined;
  const path = fileURLToPath(source);
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? path : dirname(path);
}

/** Accepts URLs of other realms, such as jsdom's. */
export function isUrl(source: object): source is URL {
  return Object.prototype.toString.call(source) === "[object URL]";
}

/** A JSON copy of an object, so that functions do not freeze the test's own object. */
export function plain(value: object, what: string): JsonObject {
  let text: string;
  try {
    text = printJson(value as JsonValue);
  } catch (cause) {
    throw invalid(`${what} has no JSON form: ${cause instanceof RangeError ? "it contains itself" : reason(cause)}`);
  }
  const [document] = readDocuments(text, { source: what });
  if (isObject(document?.value)) return document.value;
  throw invalid(`${what} is not a plain object`);
}

function readText(text: string, what: string): ParsedDocument[] {
  const documents = readDocuments(text, { source: what });
  if (documents.every(({ value }) => isObject(value))) return documents;
  throw invalid(
    `${what} is a text, which is read as YAML or JSON, and holds no object; to read a file, give its URL: ` +
      `beside(import.meta.url)("name.yaml")`,
  );
}

function readUrl(url: URL, what: string): ParsedDocument[] {
  if (url.protocol !== "file:") throw invalid(`${what}: a URL must be a file: URL, found ${url.protocol}`);
  const path = fileURLToPath(url);
  const stats = statOf(path, what);
  return stats.isDirectory() ? readFolder(path, what) : readFile(path, stats, what);
}

function readFolder(folder: string, what: string): ParsedDocument[] {
  const names = readdirSync(folder).filter((name) => EXTENSIONS.includes(extname(name)));
  if (names.length === 0) throw invalid(`${what}: no YAML files in the folder ${named(folder)}`);
  if (names.length > MAX_FILES) {
    throw invalid(`${what}: ${names.length} files in the folder ${named(folder)}; at most ${MAX_FILES} are read`);
  }
  const files = names.toSorted().map((name) => join(folder, name));
  return files.flatMap((file) => {
    const stats = statOf(file, what);
    return stats.isDirectory() ? [] : readFile(file, stats, what);
  });
}

function readFile(path: string, stats: Stats, what: string): ParsedDocument[] {
  if (!stats.isFile()) throw invalid(`${what}: ${named(path)} is not a regular file`);
  // Check the size first: the reader would reject the file only after loading it.
  if (stats.size > MAX_TEXT_BYTES) throw invalid(`${what}: ${named(path)} is larger than ${MAX_TEXT_BYTES} bytes`);
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    throw invalid(`${what}: cannot read ${named(path)}: ${reason(cause)}`, cause);
  }
  const documents = readDocuments(bytes, { source: named(path) });
  if (documents.every(({ value }) => isObject(value))) return documents;
  throw invalid(`${what}: ${named(path)} holds something else than objects`);
}

function statOf(path: string, what: string): Stats {
  try {
    return statSync(path);
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    throw invalid(`${what}: ${missing ? "there is no file" : "cannot read"} ${named(path)}`, cause);
  }
}

/** The path of a file for messages: relative to the current directory if the file is below it. */
function named(path: string): string {
  const short = relative(process.cwd(), path);
  return short.startsWith("..") || short === "" ? path : short;
}

function reason(error: unknown): string {
  return messageOf(error);
}

function invalid(message: string, cause?: unknown): TestingError {
  return new TestingError("InvalidInput", message, cause === undefined ? undefined : { cause });
}
