import type { Patch } from "../api/template.ts";
import { type FieldPath, FieldPathError, formatFieldPath, parseFieldPath } from "../field-path/field-path.ts";
import type { MergeOptions } from "../field-path/merge.ts";
import { compileCombine } from "../transform/combine.ts";
import { compileTransforms } from "../transform/compile-transforms.ts";
import type { GoValue } from "../values/go-value.ts";
import { itemsOf, textOrNone } from "./items-of.ts";

/**
 * The source and the target of a patch. `composed` is the rendered resource, or, as a source for the XR, the observed
 * one.
 */
export type PatchDirection = "toComposed" | "toComposite" | "environmentToComposed" | "composedToEnvironment";

/** A patch that can be applied any number of times. */
export interface CompiledPatch {
  direction: PatchDirection;
  /** The source paths: one, or the variables of a combine. */
  from: readonly PathOrError[];
  /** Set for a combine. */
  combine: ((inputs: readonly GoValue[]) => GoValue) | undefined;
  transform: ((input: GoValue) => GoValue) | undefined;
  to: PathOrError;
  /** {@link to} as text, for reports of writes. */
  toText: string;
  /** Whether `*` in {@link to} is a wildcard. */
  wildcards: boolean;
  required: boolean;
  merge: MergeOptions | undefined;
  /** How the written value is merged into that of the observed resource. As in Crossplane, toFieldPath must be set. */
  mergeObserved: MergeOptions | undefined;
  /** The error of every application of the patch. */
  problem: string | undefined;
  /** The path of the patch in the Composition. */
  source: string;
  /** The source of the value, for reports. */
  origin: string;
}

/** A path or its error. As in Crossplane, the error surfaces only when a run reaches the patch. */
export type PathOrError = FieldPath | FieldPathError;

const DIRECTIONS: { readonly [type: string]: PatchDirection } = {
  FromCompositeFieldPath: "toComposed",
  CombineFromComposite: "toComposed",
  ToCompositeFieldPath: "toComposite",
  CombineToComposite: "toComposite",
  FromEnvironmentFieldPath: "environmentToComposed",
  CombineFromEnvironment: "environmentToComposed",
  ToEnvironmentFieldPath: "composedToEnvironment",
  CombineToEnvironment: "composedToEnvironment",
};

/**
 * Compiles a patch. Returns undefined for an unknown or missing type: Crossplane's engine ignores such patches. Its API
 * server, like our parser, fills in the default type.
 */
export function compilePatch(patch: Patch, source: string): CompiledPatch | undefined {
  const type = textOrNone(patch.type) ?? "";
  const direction = Object.hasOwn(DIRECTIONS, type) ? DIRECTIONS[type] : undefined;
  if (direction === undefined) return undefined;
  const identity = { direction, source };
  return type.startsWith("Combine")
    ? compileCombinePatch(patch, type, identity)
    : compileFieldPatch(patch, type, identity);
}

type PatchIdentity = Pick<CompiledPatch, "direction" | "source">;

function compileFieldPatch(patch: Patch, type: string, identity: PatchIdentity): CompiledPatch {
  const from = textOrNone(patch.fromFieldPath);
  const to = textOrNone(patch.toFieldPath) ?? from ?? "";
  return {
    ...identity,
    from: [pathOf(from ?? "")],
    combine: undefined,
    transform: transformOf(patch),
    ...target(to),
    wildcards: to.includes("[*]"),
    required: isRequired(patch),
    merge: patch.policy?.mergeOptions ?? undefined,
    mergeObserved: observedOptions(patch),
    problem: from === undefined ? `a ${type} patch needs fromFieldPath` : undefined,
    origin: `${type} ${from ?? ""}`,
  };
}

/** Compiles a combine, which supports neither wildcards nor merge options. */
function compileCombinePatch(patch: Patch, type: string, identity: PatchIdentity): CompiledPatch {
  const combine = patch.combine ?? undefined;
  const to = textOrNone(patch.toFieldPath);
  const variables = itemsOf(combine?.variables).map(([, variable]) => textOrNone(variable.fromFieldPath) ?? "");
  let problem: string | undefined;
  if (combine === undefined) problem = `a ${type} patch needs combine`;
  else if (to === undefined) problem = `a ${type} patch needs toFieldPath`;
  else if (variables.length === 0) problem = "combine.variables is empty; name at least one field";
  return {
    ...identity,
    from: variables.map(pathOf),
    combine: combine && compileCombine(combine),
    transform: transformOf(patch),
    ...target(to ?? ""),
    wildcards: false,
    required: isRequired(patch),
    merge: undefined,
    mergeObserved: observedOptions(patch),
    problem,
    origin: `${type} ${variables.join(", ")}`,
  };
}

/** As in Crossplane's apply, which needs toFieldPath, and fails for one with a wildcard, which names several fields. */
function observedOptions({ toFieldPath, policy }: Patch): MergeOptions | undefined {
  const to = textOrNone(toFieldPath);
  return to === undefined || to.includes("[*]") ? undefined : (policy?.mergeOptions ?? undefined);
}

function transformOf(patch: Patch): CompiledPatch["transform"] {
  const transforms = patch.transforms ?? [];
  return transforms.length === 0 ? undefined : compileTransforms(transforms);
}

function isRequired(patch: Patch): boolean {
  return (patch.policy?.fromFieldPath ?? "Optional") !== "Optional";
}

function target(text: string): Pick<CompiledPatch, "to" | "toText"> {
  const to = pathOf(text);
  return { to, toText: to instanceof FieldPathError ? text : formatFieldPath(to) };
}

function pathOf(text: string): PathOrError {
  try {
    return parseFieldPath(text);
  } catch (error) {
    if (error instanceof FieldPathError) return error;
    throw error;
  }
}
