import { printYaml } from "@xfn/functionio/document";
import { controllerCrds } from "../crds/controller-crds.ts";

/** The CRDs that the controllers need, as a stream of YAML documents. */
export function printCrds(): string {
  return controllerCrds()
    .map((crd) => `---\n${printYaml(crd)}`)
    .join("");
}
