import type { JsonObject } from "@xfn/functionio";
import {
  anyFlag,
  anyList,
  anyText,
  type FieldShape,
  flag,
  integer,
  list,
  map,
  nonzeroInteger,
  raw,
  type Shape,
  struct,
  text,
} from "../schema/structural/api-shape.ts";
import { emptyObject } from "../values/json.ts";

// A CompositeResourceDefinition's types, and those it shares with CustomResourceDefinitions (field names of v1).

const fields = (...of: readonly (readonly [string, Shape, FieldShape["absent"]?])[]): Shape => {
  const known = new Map<string, FieldShape>();
  for (const [field, shape, absent] of of) known.set(field, absent === undefined ? { shape } : { shape, absent });
  return struct(() => known);
};

/** Names of a kind. */
const namesShape: Shape = fields(
  ["plural", anyText, ""],
  ["singular", text],
  ["shortNames", list(anyText, () => "")],
  ["kind", anyText, ""],
  ["listKind", text],
  ["categories", list(anyText, () => "")],
);

const columnShape: Shape = fields(
  ["name", anyText, ""],
  ["type", anyText, ""],
  ["format", text],
  ["description", text],
  ["priority", nonzeroInteger],
  ["jsonPath", anyText, ""],
);

const conversionShape: Shape = fields(
  ["strategy", anyText, ""],
  [
    "webhook",
    fields(
      [
        "clientConfig",
        fields(
          ["url", anyText],
          ["service", fields(["namespace", anyText, ""], ["name", anyText, ""], ["path", anyText], ["port", integer])],
          ["caBundle", text],
        ),
      ],
      ["conversionReviewVersions", anyList(anyText, () => ""), null],
    ),
  ],
);

const versionShape: Shape = fields(
  ["name", anyText, ""],
  ["referenceable", anyFlag, false],
  ["served", anyFlag, false],
  ["deprecated", flag],
  ["deprecationWarning", anyText],
  ["schema", fields(["openAPIV3Schema", raw])],
  ["additionalPrinterColumns", list(columnShape, emptyColumn)],
);

const reference: Shape = fields(["name", anyText, ""]);
const strings: Shape = map(anyText, () => "");

/** A CompositeResourceDefinition without its status; schemas are left as they are. */
export const definitionShape: Shape = fields(
  ["apiVersion", text],
  ["kind", text],
  ["metadata", fields(["name", text], ["uid", text], ["labels", strings], ["annotations", strings]), emptyObject()],
  [
    "spec",
    fields(
      ["group", anyText, ""],
      ["names", namesShape, { plural: "", kind: "" }],
      ["claimNames", namesShape],
      ["connectionSecretKeys", list(anyText, () => "")],
      ["defaultCompositeDeletePolicy", anyText],
      ["defaultCompositionRef", reference],
      ["enforcedCompositionRef", reference],
      ["defaultCompositionUpdatePolicy", anyText],
      ["versions", anyList(versionShape, () => ({ name: "", referenceable: false, served: false })), []],
      ["conversion", conversionShape],
      ["metadata", fields(["labels", strings], ["annotations", strings])],
    ),
    { group: "", names: { plural: "", kind: "" }, versions: [] },
  ],
);

function emptyColumn(): JsonObject {
  return { name: "", type: "", jsonPath: "" };
}
