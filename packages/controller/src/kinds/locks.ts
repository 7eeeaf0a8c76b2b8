import { defineKind, type Kind } from "./define-kind.ts";
import { choice, list, text } from "./fields.ts";
import { status } from "./status.ts";

const TYPES = ["Configuration", "Provider", "Function"] as const;

/** The Lock has its fields next to `metadata`, as in Crossplane. */
export const LOCKS: Kind<object> = defineKind({
  group: "pkg.crossplane.io",
  kind: "Lock",
  versions: ["v1beta1"],
  about: "The Lock has all installed packages with their dependencies. The controller writes it.",
  fields: {
    packages: list("are the installed packages.", {
      apiVersion: text("is the API version of the package's kind."),
      kind: text("is the kind of the package."),
      type: choice("is the kind of the package, in an older form.", TYPES),
      "name!": text("is the name of the package revision."),
      "source!": text("is the image of the package, without a tag or digest."),
      "version!": text("is the tag of the package, or its digest."),
      "dependencies!": list("are the packages on which the package depends.", {
        apiVersion: text("is the API version of the dependency's kind."),
        kind: text("is the kind of the dependency."),
        type: choice("is the kind of the dependency, in an older form.", TYPES),
        "package!": text("is the image of the dependency, without a tag."),
        "constraints!": text("are the accepted versions of the dependency, such as >=v1.2.0, or a digest."),
      }),
    }),
    status: status({}),
  },
});
