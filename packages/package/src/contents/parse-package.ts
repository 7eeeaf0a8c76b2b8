import { setImmediate } from "node:timers/promises";
import { DocumentError, formatPath, type JsonPath, type JsonValue } from "@xfn/json";
import { type ParsedDocument, readDocuments } from "@xfn/json/document";
import type { Position } from "@xfn/json/text";
import { PackageError } from "../errors/package-error.ts";
import type { PackageKind } from "../kind/package-kind.ts";
import { STREAM_FILE } from "../kind/xpkg-format.ts";
import { checkPackage, MAX_OBJECTS, type PackageContents } from "./check-package.ts";
import { faultLine, type PackageFault } from "./fault.ts";

/** A CRD of 1.5 MiB of JSON, the most that etcd stores, takes up to 4 MiB as YAML. */
const MAX_DOCUMENT = 4 * 1024 * 1024;

/** Fields and items of one document. An object of 1.5 MiB has more only if each takes less than 7 bytes. */
const MAX_DOCUMENT_VALUES = 250_000;

/** Fields and items of all documents. Aliases could make millions out of a short text; CRDs have 40 bytes for each. */
const MAX_VALUES = 2_000_000;

/** Counts empty documents too: a package of 64 MiB could have millions, which take minutes. */
const MAX_DOCUMENTS = 2 * MAX_OBJECTS;

/** Parameters of {@link parsePackage}. */
export interface ParsePackageOptions {
  /** The package as the caller names it, for messages. */
  readonly package: string;
  /** Another kind is an error. */
  readonly kind?: PackageKind | undefined;
}

/**
 * Reads and checks `package.yaml`. Gives way to other work after each document, since providers have hundreds of CRDs.
 *
 * @throws PackageError
 */
export async function parsePackage(content: Uint8Array, options: ParsePackageOptions): Promise<PackageContents> {
  const documents: ParsedDocument[] = [];
  const positions = new Positions();
  let at = 0;
  let values = 0;
  for (const text of documentsIn(decode(content, options))) {
    at += 1;
    if (at > MAX_DOCUMENTS) throw tooMany(options);
    for (const [index, { value, source }] of readText(text, at, options).entries()) {
      const positionOf = (path: JsonPath): Position | undefined => positions.find(text, index, path);
      if (value !== null) documents.push({ value, source, positionOf });
      values += countValues(value);
    }
    if (values > MAX_VALUES) throw tooManyValues(options);
    if (documents.length > MAX_OBJECTS) break;
    await setImmediate();
  }
  const checked = checkPackage(documents);
  if ("faults" in checked) throw errorOf(checked.faults, options);
  const { kind } = checked;
  if (options.kind !== undefined && kind !== options.kind) {
    const remedy = `install it as a ${kind}, or name the package of a ${options.kind}`;
    throw new PackageError("WrongKind", `is a ${kind} and not a ${options.kind}`, { ...options, remedy });
  }
  return checked;
}

function decode(content: Uint8Array, options: ParsePackageOptions): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch (cause) {
    throw new PackageError("NotYaml", `${STREAM_FILE} is not UTF-8`, { ...options, remedy: REBUILD, cause });
  }
}

const REBUILD = "build the package again";

function tooMany(options: ParsePackageOptions): PackageError {
  const problem = `${STREAM_FILE} has more than ${MAX_DOCUMENTS} documents, most of them empty`;
  return new PackageError("TooLarge", problem, { ...options, remedy: "remove the empty ones" });
}

function tooManyValues(options: ParsePackageOptions): PackageError {
  const problem = `${STREAM_FILE} has more than ${MAX_VALUES} fields and items`;
  return new PackageError("TooLarge", problem, { ...options, remedy: "split it into several packages" });
}

/** The fields and items of a value. */
function countValues(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  for (const item of Array.isArray(value) ? value : Object.values(value)) count += 1 + countValues(item);
  return count;
}

/**
 * Finds positions in the documents of a package. It reads a text again for them, and keeps only the last one: what the
 * reader keeps of a text takes many times its memory.
 */
class Positions {
  #text: string | undefined;
  #documents: readonly ParsedDocument[] = [];

  find(text: string, index: number, path: JsonPath): Position | undefined {
    if (this.#text !== text) this.#documents = readDocuments(text);
    this.#text = text;
    return this.#documents[index]?.positionOf(path);
  }
}

/** Documents are read one after the other, because reading YAML takes many times the memory of its text. */
function* documentsIn(text: string): Generator<string> {
  // A directive belongs to the separator after it.
  if (/^%/m.test(text)) {
    yield text;
    return;
  }
  let start = 0;
  for (const { index } of text.matchAll(/^---(?=\s|$)/gm)) {
    if (index > start) yield text.slice(start, index);
    start = index;
  }
  yield text.slice(start);
}

const LIMITS = { maxValues: MAX_DOCUMENT_VALUES, maxYamlValues: MAX_DOCUMENT_VALUES };

function readText(text: string, at: number, options: ParsePackageOptions): ParsedDocument[] {
  const source = `${STREAM_FILE}, document ${at}`;
  if (text.length > MAX_DOCUMENT) {
    const problem = `${source} has ${text.length} characters, and may have ${MAX_DOCUMENT}`;
    throw new PackageError("TooLarge", problem, { ...options, remedy: "shorten it, such as its descriptions" });
  }
  try {
    return readDocuments(text, { source, limits: LIMITS });
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    if (error.code === "TooManyValues")
      throw new PackageError("TooLarge", error.message, { ...options, remedy: "split the object", cause: error });
    throw new PackageError("NotYaml", error.message, { ...options, remedy: REBUILD, cause: error });
  }
}

function errorOf(faults: readonly PackageFault[], options: ParsePackageOptions): PackageError {
  const [first] = faults;
  if (first === undefined) throw new TypeError("no faults");
  const { code, path, problem, remedy } = first;
  const field = path.length === 0 ? undefined : formatPath(path);
  const details = faults.length === 1 ? [] : faults.map(faultLine);
  const more = details.length === 0 ? "" : ` (and ${faults.length - 1} more)`;
  return new PackageError(code, `${problem}${more}`, { ...options, field, remedy, details });
}
