import { readDocuments } from "@xfn/json/document";
import { expect, test } from "vitest";
import { metadataErrors } from "./metadata-errors.ts";

test.each(["constructor", "__proto__", "toString"])("a group may be named %s", (group) => {
  for (const document of readDocuments(`{apiVersion: ${group}/v1, kind: name, metadata: {name: a.b}}`))
    expect(metadataErrors(document)).toEqual({ errors: [], warnings: [] });
});
