import { type FieldPath, FieldPathError, parseFieldPath } from "../field-path.ts";
import type { GoValue } from "../go-value.ts";
import type { MergeOptions, Patch } from "../template.ts";
import { compileCombine } from "../transform/combine.ts";
import { compileTransforms } from "../transform/compile-transforms.ts";

/** What a patch copies between. `composed` is the resource that is rendered, or, on the way to the XR, the one that exists. */
export type PatchDirection = "toComposed" | "toComposite" | "environmentToComposed" | "composedToEnvironment";

/** A patch, ready to be applied any number of times. */
export interface CompiledPatch {
  direction: PatchDirection;
  /** What is read: one path for a plain patch, the variables of a combine. */
  from: readonly PathOrError[];
  /** Set for a combine. */
  combine: ((inputs: readonly GoValue[]) => GoValue) | undefined;
  transform: ((input: GoValue) => GoValue) | undefined;
  to: PathOrError;
  /** Whether `*` in {@link to} stands for every field and element. */
  wildcards: boolean;
  required: boolean;
  merge: MergeOptions | undefined;
  /** What is wrong with the patch, whatever it is applied to. */
  problem: string | undefined;
  /** The patch's place as the author wrote it. */
  source: string;
  /** Where the value comes from, in words. */
  origin: string;
}

/** A path, or why there is none: an error matters only once a run gets to it, as in Crossplane. */
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
 * Compiles a patch. Undefined for types that do not exist and for patches without one: Crossplane's engine passes over
 * them (its API server, like our parser, fills in the type that is the default).
 */
export function compilePatch(patch: Patch, source: string): CompiledPatch | undefined {
  const type: string = patch.type ?? "";
  const direction = Object.hasOwn(DIRECTIONS, type) ? DIRECTIONS[type] : undefined;
  if (direction === undefined) return undefined;
  const combines = type.startsWith("Combine");
  const variables = combines ? (patch.combine?.variables ?? []).map((variable) => variable.fromFieldPath) : [];
  const froms = combines ? variables : [patch.fromFieldPath ?? ""];
  const to = patch.toFieldPath ?? (combines ? "" : (patch.fromFieldPath ?? ""));
  const transforms = patch.transforms ?? [];
  const policy = patch.policy?.fromFieldPath ?? "Optional";
  return {
    direction,
    from: froms.map(pathOf),
    combine: combines && patch.combine ? compileCombine(patch.combine) : undefined,
    transform: transforms.length === 0 ? undefined : compileTransforms(transforms),
    to: pathOf(to),
    // A combine does not expand wildcards: there `*` is a field.
    wildcards: !combines && to.includes("[*]"),
    required: policy !== "Optional",
    merge: combines ? undefined : (patch.policy?.mergeOptions ?? undefined),
    problem: problemOf(patch, type, combines),
    source,
    origin: `${type} ${froms.join(", ")}`,
  };
}

function problemOf(patch: Patch, type: string, combines: boolean): string | undefined {
  if (!combines) {
    return (patch.fromFieldPath ?? undefined) === undefined ? `a ${type} patch needs fromFieldPath` : undefined;
  }
  if ((patch.combine ?? undefined) === undefined) return `a ${type} patch needs combine`;
  if ((patch.toFieldPath ?? undefined) === undefined) return `a ${type} patch needs toFieldPath`;
  if ((patch.combine?.variables ?? []).length === 0) return "combine.variables is empty; name at least one field";
  return undefined;
}

function pathOf(text: string): PathOrError {
  try {
    return parseFieldPath(text);
  } catch (error) {
    if (error instanceof FieldPathError) return error;
    throw error;
  }
}
