import type { JsonObject } from "@xfn/json";
import { type FieldPath, FieldPathError, findFieldPath, getFieldPath } from "../field-path/field-path.ts";
import { mergeFieldPath, mergeValues } from "../field-path/merge.ts";
import { setFieldPath } from "../field-path/set.ts";
import { documentValue } from "../field-path/value.ts";
import { expandWildcards } from "../field-path/wildcards.ts";
import { TransformError } from "../transform/text/transform-error.ts";
import type { GoValue } from "../values/go-value.ts";
import type { CompiledPatch, PathOrError } from "./compile-patch.ts";
import { hasKind } from "./object-kind.ts";
import { TemplateError } from "./template-error.ts";
import type { WriteBudget } from "./write-budget.ts";

export interface PatchTarget {
  /** Returns the object to change. Called only before a write. */
  writable(): JsonObject;
  /** The remaining budget of this run. */
  readonly budget: WriteBudget;
  /** Called after each write with the path and the value before it was merged. */
  wrote?(path: FieldPath, patch: CompiledPatch, value: GoValue): void;
}

/**
 * Applies a patch: reads, combines, transforms, writes.
 *
 * @throws {FieldPathError | TransformError | TemplateError} see {@link patchError}
 */
export function applyPatch(patch: CompiledPatch, from: JsonObject, target: PatchTarget): void {
  if (patch.problem !== undefined) throw new TemplateError("InvalidPatch", patch.source, patch.problem);
  const input = readInput(patch, from);
  if (input === undefined) return;
  const value = patch.transform === undefined ? input : patch.transform(input);
  const to = pathOrThrow(patch.to);
  const object = target.writable();
  if (!patch.wildcards) {
    write(object, to, value, patch, target);
    return;
  }
  const paths = expandWildcards(object, to);
  if (paths.length === 0) {
    throw new TemplateError("PatchFailed", patch.source, `toFieldPath ${patch.toText} matches no field`);
  }
  for (const path of paths) write(object, path, value, patch, target);
}

/** The value of the source. Undefined if it is missing and the patch is optional. */
function readInput(patch: CompiledPatch, from: JsonObject): GoValue | undefined {
  if (patch.combine === undefined) return read(patch, from, patch.from[0] ?? []);
  const inputs: GoValue[] = [];
  for (const path of patch.from) {
    const value = read(patch, from, path);
    if (value === undefined) return undefined;
    inputs.push(value);
  }
  return patch.combine(inputs);
}

function read(patch: CompiledPatch, from: JsonObject, pathOrError: PathOrError): GoValue | undefined {
  const path = pathOrThrow(pathOrError);
  return patch.required ? getFieldPath(from, path) : findFieldPath(from, path);
}

function pathOrThrow(path: PathOrError): FieldPath {
  if (path instanceof FieldPathError) throw path;
  return path;
}

function write(object: JsonObject, path: FieldPath, value: GoValue, patch: CompiledPatch, target: PatchTarget): void {
  if (patch.merge === undefined) {
    setFieldPath(object, path, value);
    target.budget.spend(value, patch.source);
  } else {
    mergeFieldPath(object, path, value, patch.merge);
    // Merging copies the existing value, too.
    target.budget.spend(findFieldPath(object, path) ?? null, patch.source);
  }
  const field = path[0];
  if ((field === "kind" || field === "apiVersion") && !hasKind(object)) {
    throw new TemplateError("PatchFailed", patch.source, `leaves the object without a valid ${field}`);
  }
  target.wrote?.(path, patch, value);
}

/**
 * Merges the value that a patch with merge options wrote into the value of the observed resource, as Crossplane's apply
 * does. Otherwise another writer of the same list or map, such as a provider, would restore its items after each apply.
 *
 * @param resource the rendered resource, which gets the merged value
 * @throws {FieldPathError | TemplateError} see {@link patchError}
 */
export function mergeObserved(
  patch: CompiledPatch,
  resource: JsonObject,
  observed: JsonObject,
  budget: WriteBudget,
): void {
  const { mergeObserved: options, to } = patch;
  if (options === undefined || patch.direction !== "toComposed" || to instanceof FieldPathError) return;
  const value = findFieldPath(resource, to) ?? null;
  // A patch that wrote nothing cannot conflict with the observed value.
  if (value === null) return;
  const there = findFieldPath(observed, to) ?? null;
  if (there === null) return;
  // In Crossplane a nested list grows with each apply.
  const merged = documentValue(mergeValues(to, there, value, { ...options, appendOnce: true }));
  if (merged !== null) setFieldPath(resource, to, merged);
  budget.spend(merged, patch.source);
}

/** A message names this many characters of a key. */
const MAX_KEY = 64;

/** The key that a map lacks, if it comes from the spec of the XR, which has no secrets. */
function lookedUp(error: Error, { direction, from, origin }: CompiledPatch): string {
  const key = error instanceof TransformError ? error.key : undefined;
  const isFromSpec = direction === "toComposed" && from.every((path) => Array.isArray(path) && path[0] === "spec");
  return key === undefined || !isFromSpec ? "" : `${JSON.stringify(key.slice(0, MAX_KEY))} (${origin}): `;
}

/** Converts the error of a patch to one that names the patch. */
export function patchError(error: unknown, patch: CompiledPatch): TemplateError {
  if (error instanceof TemplateError) return error;
  if (error instanceof FieldPathError || error instanceof TransformError) {
    return new TemplateError("PatchFailed", patch.source, `${lookedUp(error, patch)}${error.message}`, {
      cause: error,
    });
  }
  // V8 limits the length of a string, which repeated combining of a value with itself can reach.
  if (error instanceof RangeError) {
    return new TemplateError("TooLarge", patch.source, "its value is longer than a string can be");
  }
  throw error;
}
