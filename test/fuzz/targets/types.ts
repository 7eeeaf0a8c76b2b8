import assert from "node:assert/strict";
import { generateTypes } from "@xfn/functionio/types";
import type { JsonObject } from "@xfn/json";
import { parseSync } from "oxc-parser";
import { mutatedValue, vectorInputs } from "../mutate.ts";
import { type Target, target } from "../target.ts";

/** Writes the types of definitions: TypeScript without a value, or a typed error. */
export const types: Target = target<JsonObject>({
  input: mutatedValue(vectorInputs("xrd-crd").map(({ xrd }) => xrd as JsonObject)),
  run: (input) => {
    const text = generateTypes([{ value: input, source: "fuzz.yaml", positionOf: () => undefined }]);
    const { errors, program } = parseSync("types.ts", text);
    assert.deepEqual(errors, [], text);
    const kinds = new Set(program.body.map((statement) => statement.type));
    assert.deepEqual(
      [...kinds].filter((kind) => !ALLOWED.has(kind)),
      [],
      text,
    );
  },
});

/** The module with the entries of `Kinds`, an interface for each kind, and `export {}`. */
const ALLOWED: ReadonlySet<string> = new Set(["TSModuleDeclaration", "ExportNamedDeclaration"]);
