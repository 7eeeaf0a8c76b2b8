import { printYaml } from "@xfn/functionio/document";
import { controllerCrds } from "../crds/controller-crds.ts";

/** Prints the CRDs that the controllers need, as YAML documents. */
export function printCrds(): string {
  return controllerCrds()
    .map((crd) => `---\n${printYaml(crd)}`)
    .join("");
}
