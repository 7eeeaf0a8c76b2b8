import { defineKind, type Kind } from "./define-kind.ts";
import { choice, type Field, flag, list, record, type Texts, text } from "./fields.ts";
import { ATOMIC, runtimeConfigReference, SECRET_NAME } from "./package-fields.ts";
import type { View } from "./view.ts";

/** The fields of ImageConfigs that are read. */
interface ImageConfig {
  readonly spec: View & {
    readonly matchImages: readonly Texts<"prefix">[];
    readonly registry: { readonly authentication: { readonly pullSecretRef: Texts<"name"> } };
    readonly rewriteImage: Texts<"prefix">;
    readonly runtime: { readonly configRef: Texts<"name"> & View };
    readonly verification: View;
  };
}

// The bounds keep the cost of the rules for expressions below a server's limit.
const MAX_AUTHORITIES = 20;
const MAX_IDENTITIES = 50;

/** A server evaluates the rule when an object is written, and refuses an expression that it cannot compile. */
function expression(description: string): Field<string | undefined> {
  const rule = "''.matches(self) in [true, false]";
  return text(description, {
    maxLength: 512,
    "x-kubernetes-validations": [{ rule, message: "must be a regular expression (RE2)" }],
  });
}

const AUTHORITIES = list(
  "are the signers. The signature of one is enough.",
  {
    "name!": text("is the name of the authority."),
    key: record("is a public key that has signed the image.", {
      "hashAlgorithm!": text("is that of the signature: sha224, sha256, sha384 or sha512.", {
        default: "sha256",
      }),
      "secretRef!": record("names the public key.", {
        "key!": text("is the key in the Secret's data, such as cosign.pub."),
        "name!": text("is the name of a Secret in the controller's namespace."),
      }),
    }),
    keyless: record("is who has signed the image with a certificate of Fulcio. It needs --trusted-root.", {
      "identities!": list(
        "are the accepted signers. Each needs an issuer and a subject.",
        {
          issuer: text("is the issuer of the signer's token."),
          issuerRegExp: expression("is a regular expression (RE2) that the whole issuer must match."),
          subject: text("is the subject of the certificate: an email address or a URI."),
          subjectRegExp: expression("is a regular expression (RE2) that the whole subject must match."),
        },
        { maxItems: MAX_IDENTITIES },
      ),
      insecureIgnoreSCT: flag("determines whether a signed certificate timestamp is not required."),
    }),
    attestations: list("are required in place of a signature. One of them is enough.", {
      "name!": text("is the name of the attestation."),
      "predicateType!": text(
        "is the type of the predicate: a URI, or the name that cosign has for it, such as spdxjson.",
      ),
    }),
  },
  { maxItems: MAX_AUTHORITIES },
);

/** As in Crossplane, it has no status, and is served as v1beta1 alone. */
export const IMAGE_CONFIGS: Kind<ImageConfig> = defineKind({
  group: "pkg.crossplane.io",
  kind: "ImageConfig",
  versions: ["v1beta1"],
  about: "An ImageConfig has settings for the packages whose image begins with one of its prefixes.",
  fields: {
    "spec!": record("is the settings, and the images to which they apply.", {
      "matchImages!": list(
        "are the images to which the settings apply. The longest prefix counts.",
        {
          "prefix!": text("is the start of an image's name, up to a /, : or @ of the name, or to its end."),
          type: choice("is how images are matched.", ["Prefix"], { default: "Prefix" }),
        },
        { minItems: 1 },
      ),
      registry: record("has settings for the registry of the images.", {
        authentication: record("has the credentials for the registry.", {
          "pullSecretRef!": record("names the Secret with the credentials.", SECRET_NAME, ATOMIC),
        }),
      }),
      rewriteImage: record("determines from where the images are pulled.", {
        "prefix!": text("replaces the prefix of the image that matched."),
      }),
      runtime: record("has settings for the runtimes of the images.", {
        configRef: runtimeConfigReference(
          "names the DeploymentRuntimeConfig of new runtimes. It wins over the package's.",
        ),
      }),
      verification: record("determines which signature an image must have to be installed.", {
        "provider!": choice("is the form of the signatures.", ["Cosign"]),
        cosign: record("has the settings for signatures of cosign.", { "authorities!": AUTHORITIES }),
      }),
    }),
  },
});
