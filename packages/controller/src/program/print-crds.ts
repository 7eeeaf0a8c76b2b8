import { printYaml } from "@xfn/json/document";
import { controllerCrds, type ServedKinds } from "../crds/controller-crds.ts";

/** Prints the CRDs that the controllers need, as YAML documents. */
export function printCrds(kinds: ServedKinds): string {
  return controllerCrds(kinds)
    .map((crd) => `---\n${printYaml(crd)}`)
    .join("");
}
