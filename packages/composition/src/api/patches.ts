import { list } from "../api-schema/list.ts";
import { OPTIONAL, object, type Variants } from "../api-schema/object.ts";
import { choice, expected, FLAG, type RequiredField, type Rule, type Schema, text } from "../api-schema/schema.ts";
import type { MergeOptions } from "../field-path/merge.ts";
import type { FieldReader } from "../reader/field-reader.ts";
import { SOURCE_PATH, TARGET_PATH, warnOfWildcard } from "./field-path-schema.ts";
import type { Combine, Patch, PatchPolicy, PatchType } from "./template.ts";
import { TRANSFORM } from "./transforms.ts";

/** The most patches of one list: from it an API server estimates the cost of rules. */
const MAX_PATCHES = 256;

const VARIABLE = "is missing, so the variable is always null; give the field to combine";

/** A text that an API server requires, but may be empty. In a file a missing or empty one is a warning. */
function filled(schema: Schema<string>, message: string): RequiredField<string> {
  return {
    schema,
    checkPresence(value, owner, field) {
      if (value === undefined || value === "") owner.warning("Required", field, message);
    },
  };
}

const COMBINE = object<Combine>(
  {
    strategy: expected(choice("string"), "every run fails without it; give string, the only one there is"),
    variables: expected(
      list(object<{ fromFieldPath: string }>({ fromFieldPath: filled(SOURCE_PATH, VARIABLE) }), { minItems: 1 }),
      "every run fails without it; give the fields to combine",
    ),
    string: object<{ fmt: string }>({
      fmt: filled(text(), "is missing, so the result is %!(EXTRA ...); give a format in Go's syntax, such as %s-%s"),
    }),
  },
  {
    check(combine) {
      if (combine.value("string") !== undefined) return;
      combine.warning("Required", "string", "every run fails without it; give how to combine, as string.fmt");
    },
  },
);

const POLICY = object<PatchPolicy>({
  fromFieldPath: choice("Optional", "Required"),
  mergeOptions: object<MergeOptions>({ keepMapValues: FLAG, appendSlice: FLAG }),
});

const COPIES = { fromFieldPath: "the field to copy", toFieldPath: OPTIONAL } as const;
const COMBINES = { combine: "what to combine", toFieldPath: "the field to write to" } as const;

/** The fields that a patch of each type needs. */
const USES: { readonly [K in PatchType]: Variants["uses"][string] } = {
  FromCompositeFieldPath: COPIES,
  ToCompositeFieldPath: COPIES,
  CombineFromComposite: COMBINES,
  CombineToComposite: COMBINES,
  FromEnvironmentFieldPath: COPIES,
  ToEnvironmentFieldPath: COPIES,
  CombineFromEnvironment: COMBINES,
  CombineToEnvironment: COMBINES,
  PatchSet: { patchSetName: "the name of a patch set" },
};

const COPY_AND_COMBINE_RULES: readonly Rule[] = [
  ["!has(self.type) || !self.type.startsWith('Combine') || has(self.combine)", "a patch that combines needs combine"],
  [
    "!has(self.type) || !self.type.startsWith('Combine') || has(self.toFieldPath)",
    "a patch that combines needs toFieldPath, the field to write to",
  ],
  [
    "(has(self.type) && (self.type.startsWith('Combine') || self.type == 'PatchSet')) || has(self.fromFieldPath)",
    "fromFieldPath is missing: the field to copy",
  ],
];
const PATCH_SET_RULE: Rule = [
  "!has(self.type) || self.type != 'PatchSet' || has(self.patchSetName)",
  "a patch of type PatchSet needs patchSetName",
];

function patches(types: readonly PatchType[], rules: readonly Rule[], more: Partial<Variants> = {}): Schema<Patch[]> {
  const uses = Object.fromEntries(types.map((type) => [type, USES[type]]));
  const patch = object<Patch>(
    {
      type: choice<PatchType>(...types),
      fromFieldPath: SOURCE_PATH,
      toFieldPath: TARGET_PATH,
      combine: COMBINE,
      patchSetName: text(253),
      transforms: list(TRANSFORM),
      policy: POLICY,
    },
    { rules, check: checkTarget, variants: { absent: "FromCompositeFieldPath", uses, ...more } },
  );
  return list(patch, { maxItems: MAX_PATCHES });
}

function checkTarget(patch: FieldReader): void {
  const type = patch.value("type");
  if (typeof type === "string" && type.startsWith("Combine")) return warnOfWildcard(patch, "toFieldPath");
  // A patch that combines reports a null as a missing field.
  if (patch.json["toFieldPath"] !== null) return;
  patch.warning(
    "Required",
    "toFieldPath",
    "is null, so the patch writes to its fromFieldPath; give a path or remove it",
  );
}

const COMPOSITE: readonly PatchType[] = [
  "FromCompositeFieldPath",
  "ToCompositeFieldPath",
  "CombineFromComposite",
  "CombineToComposite",
];
const ENVIRONMENT: readonly PatchType[] = [
  "FromEnvironmentFieldPath",
  "ToEnvironmentFieldPath",
  "CombineFromEnvironment",
  "CombineToEnvironment",
];

export const TEMPLATE_PATCHES: Schema<Patch[]> = patches(
  [...COMPOSITE, ...ENVIRONMENT, "PatchSet"],
  [...COPY_AND_COMBINE_RULES, PATCH_SET_RULE],
);

/** The patches of a patch set: any but patch sets. */
export const SET_PATCHES: Schema<Patch[]> = patches([...COMPOSITE, ...ENVIRONMENT], COPY_AND_COMBINE_RULES, {
  refused: {
    PatchSet: { code: "Invalid", message: "a patch set cannot contain a PatchSet; write the patches themselves" },
  },
});

/** The patches between the XR and the environment. */
export const ENVIRONMENT_PATCHES: Schema<Patch[]> = patches(COMPOSITE, COPY_AND_COMBINE_RULES);
