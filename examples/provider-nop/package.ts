// Prints package.yaml of the provider: its metadata, and its CRD with a second version that the provider converts.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { type JsonObject, objectAt, objectsAt } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";

const META: JsonObject = {
  apiVersion: "meta.pkg.crossplane.io/v1",
  kind: "Provider",
  metadata: { name: "provider-nop" },
};

/** The controller adds the Service of the provider, and the authority of its certificate. */
const CONVERSION: JsonObject = {
  strategy: "Webhook",
  webhook: { conversionReviewVersions: ["v1"], clientConfig: { service: { path: "/convert" } } },
};

/** The version v1beta1: `conditions` instead of `conditionAfter`, with shorter names. */
function betaOf(alpha: JsonObject): JsonObject {
  const beta = structuredClone(alpha);
  const path = ["schema", "openAPIV3Schema", "properties", "spec", "properties", "forProvider", "properties"];
  const fields = objectAt(beta, ...path);
  const { items, ...list } = objectAt(fields, "conditionAfter");
  const {
    time = null,
    conditionType = null,
    conditionStatus = null,
    conditionReason = null,
  } = objectAt(items, "properties");
  const properties = { after: time, type: conditionType, status: conditionStatus, reason: conditionReason };
  fields["conditions"] = { ...list, items: { ...objectAt(items), required: ["after", "type", "status"], properties } };
  delete fields["conditionAfter"];
  return { ...beta, name: "v1beta1", storage: false };
}

const source = readFileSync(join(import.meta.dirname, "crd.yaml"), "utf8");
const crd = readDocuments(source)[0]?.value as JsonObject;
const versions = objectsAt(crd, "spec", "versions").flatMap((alpha) => [alpha, betaOf(alpha)]);
const spec = { ...objectAt(crd, "spec"), versions, conversion: CONVERSION };
process.stdout.write([META, { ...crd, spec }].map((document) => `${JSON.stringify(document)}\n`).join("---\n"));
