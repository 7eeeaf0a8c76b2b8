import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import { beforeAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { applyDefinition } from "../render/definition-file.ts";

const names = (kind: string): string => `names: { kind: ${kind}, plural: ${kind.toLowerCase()}s }`;
const schema = "validation: { openAPIV3Schema: { type: object, properties: { size: { type: int, default: 3 } } } }";
const definition = (form: string, kind: string, more = ""): string => `---
apiVersion: apiextensions.crossplane.io/v1alpha1
kind: ${form}Definition
metadata: { name: ${kind.toLowerCase()}s.example.org }
spec:
  crdSpecTemplate: { group: example.org, version: v1, ${names(kind)}, ${schema} }
${more}`;
const DEFINITIONS = `${definition("Infrastructure", "Database", "  connectionDetails: [user]\n")}---
apiVersion: apiextensions.crossplane.io/v1alpha1
kind: InfrastructurePublication
metadata: { name: databases.example.org }
spec: { infrastructureDefinitionReference: { name: databases.example.org } }
${definition("Application", "Blog")}`;

describe("definitions of Resource Composition for render --xrd", () => {
  let folder: string;
  let file: string;
  beforeAll(() => {
    folder = temporaryFolder();
    file = join(folder, "definitions.yaml");
    writeFileSync(file, DEFINITIONS);
  });

  const define = (kind: string, spec = "{}"): ReturnType<typeof applyDefinition> => {
    const xr = `apiVersion: example.org/v1\nkind: ${kind}\nmetadata: { name: a }\nspec: ${spec}\n`;
    const [document] = readDocuments(xr);
    if (document === undefined) throw new Error("there is no document");
    return applyDefinition(file, { ...document, value: document.value as JsonObject }, (message) => {
      throw new Error(message);
    });
  };

  test("give the XR its defaults, connection keys and layout", async () => {
    expect(await define("Database")).toMatchObject({
      composite: { spec: { size: 3 } },
      connectionKeys: ["user"],
      isLegacy: true,
    });
    expect(await define("Blog", "{ size: 1 }")).toMatchObject({ composite: { spec: { size: 1 } } });
  });

  test("refuse a field that the author's schema lacks, and a requirement", async () => {
    await expect(define("Blog", "{ sise: 1 }")).rejects.toMatchObject({
      details: [expect.stringContaining("sise")],
    });
    await expect(define("DatabaseRequirement")).rejects.toThrow("DatabaseRequirement is a claim of Database");
  });
});
