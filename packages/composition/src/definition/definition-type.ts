import { type JsonObject, newObject } from "@xfn/json";
import {
  type ApiField,
  type ApiType,
  anyFlag,
  anyList,
  anyText,
  flag,
  integer,
  list,
  map,
  nonzeroInteger,
  raw,
  struct,
  text,
} from "../schema/structural/api-types.ts";

// The API server's types of a CompositeResourceDefinition, some of which CustomResourceDefinitions share.

const fields = (...of: readonly (readonly [string, ApiType, ApiField["absent"]?])[]): ApiType => {
  const known = new Map<string, ApiField>();
  for (const [field, type, absent] of of) known.set(field, absent === undefined ? { type } : { type, absent });
  return struct(() => known);
};

const namesType: ApiType = fields(
  ["plural", anyText, ""],
  ["singular", text],
  ["shortNames", list(anyText, () => "")],
  ["kind", anyText, ""],
  ["listKind", text],
  ["categories", list(anyText, () => "")],
);

const columnType: ApiType = fields(
  ["name", anyText, ""],
  ["type", anyText, ""],
  ["format", text],
  ["description", text],
  ["priority", nonzeroInteger],
  ["jsonPath", anyText, ""],
);

const conversionType: ApiType = fields(
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

const versionType: ApiType = fields(
  ["name", anyText, ""],
  ["referenceable", anyFlag, false],
  ["served", anyFlag, false],
  ["deprecated", flag],
  ["deprecationWarning", anyText],
  ["schema", fields(["openAPIV3Schema", raw])],
  ["additionalPrinterColumns", list(columnType, emptyColumn)],
  [
    "subresources",
    fields([
      "scale",
      fields(["specReplicasPath", anyText, ""], ["statusReplicasPath", anyText, ""], ["labelSelectorPath", text]),
    ]),
  ],
);

const reference: ApiType = fields(["name", anyText, ""]);
const strings: ApiType = map(anyText, () => "");

/** A CompositeResourceDefinition without its status. Schemas are not decoded. */
export const definitionType: ApiType = fields(
  ["apiVersion", text],
  ["kind", text],
  ["metadata", fields(["name", text], ["uid", text], ["labels", strings], ["annotations", strings]), newObject()],
  [
    "spec",
    fields(
      ["group", anyText, ""],
      ["names", namesType, { plural: "", kind: "" }],
      ["scope", text],
      ["claimNames", namesType],
      ["connectionSecretKeys", list(anyText, () => "")],
      ["defaultCompositeDeletePolicy", anyText],
      ["defaultCompositionRef", reference],
      ["defaultCompositionRevisionSelector", fields(["matchLabels", strings])],
      ["enforcedCompositionRef", reference],
      ["defaultCompositionUpdatePolicy", anyText],
      ["versions", anyList(versionType, () => ({ name: "", referenceable: false, served: false })), []],
      ["conversion", conversionType],
      ["metadata", fields(["labels", strings], ["annotations", strings])],
    ),
    { group: "", names: { plural: "", kind: "" }, versions: [] },
  ],
);

function emptyColumn(): JsonObject {
  return { name: "", type: "", jsonPath: "" };
}
