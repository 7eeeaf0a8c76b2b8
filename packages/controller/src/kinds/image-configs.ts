import { defineKind, type Kind } from "./define-kind.ts";
import { choice, flag, list, record, type Texts, text } from "./fields.ts";
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

const AUTHORITIES = list("are the signers. The signature of one is enough.", {
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
  keyless: record("is not supported: an authority that has it verifies nothing.", {
    "identities!": list("are the accepted signers.", {
      issuer: text("is the issuer of the signer's token."),
      issuerRegExp: text("is a regular expression for the issuer."),
      subject: text("is the subject of the signer's token."),
      subjectRegExp: text("is a regular expression for the subject."),
    }),
    insecureIgnoreSCT: flag("determines whether a signed certificate timestamp is not required."),
  }),
  attestations: list("are not supported: an authority that has them verifies nothing.", {
    "name!": text("is the name of the attestation."),
    "predicateType!": text("is the type of the attestation's predicate."),
  }),
});

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
