import { AGE, column, conditionColumn, defineKind, type Kind } from "./define-kind.ts";
import { choice, flag, integer, list, record, type Texts, text, textMap, texts } from "./fields.ts";
import { DEFAULT_CONFIG, packageReference, pullPolicy, pullSecrets, runtimeConfigReference } from "./package-fields.ts";
import { status } from "./status.ts";
import type { View } from "./view.ts";

// The kinds of Crossplane's package manager (https://docs.crossplane.io/latest/packages/), with their fields, defaults
// and columns: manifests for Crossplane apply unchanged.

/** The fields of packages of all kinds that are read. */
interface Package {
  readonly spec: Texts<"package" | "revisionActivationPolicy" | "packagePullPolicy"> & {
    readonly revisionHistoryLimit: number | undefined;
  };
  readonly status: Texts<"currentIdentifier" | "currentRevision" | "resolvedPackage">;
}

/** The fields of package revisions of all kinds that are read. */
interface PackageRevision {
  readonly spec: Texts<"desiredState" | "image"> & {
    readonly revision: number | undefined;
    readonly packagePullSecrets: readonly Texts<"name">[];
    readonly runtimeConfigRef?: Texts<"name">;
    readonly ignoreCrossplaneConstraints: boolean | undefined;
    readonly skipDependencyResolution: boolean | undefined;
    readonly commonLabels: Readonly<Record<string, string>>;
    readonly commonAnnotations: Readonly<Record<string, string>>;
  };
  readonly status: View &
    Texts<"commonMetadataHash" | "resolvedImage"> & {
      readonly capabilities: readonly string[];
      readonly objectRefs: readonly Texts<"apiVersion" | "kind" | "name" | "uid">[];
      readonly endpoint?: string | undefined;
      readonly foundDependencies: number | undefined;
      readonly installedDependencies: number | undefined;
    };
}

/** Differences between the kinds. */
interface Traits {
  readonly versions: readonly [string, ...string[]];
  /** Whether a program of the package runs. */
  readonly hasRuntime: boolean;
  /** Whether a revision shows the address of its function. */
  readonly hasEndpoint: boolean;
  /** Whether a revision shows that its program has no pods yet. */
  readonly isActivated?: true;
}

/** Fields that packages and their revisions share. */
const SHARED_FIELDS = {
  packagePullSecrets: pullSecrets("are Secrets of the controller's namespace, with credentials for the registry."),
  packagePullPolicy: pullPolicy(
    "determines when the tag of the package is resolved to a digest. IfNotPresent resolves it once, " +
      "Always asks the registry every minute whether the tag has moved, and Never requires a digest.",
  ),
  ignoreCrossplaneConstraints: flag("determines whether a package for another version of Crossplane is installed.", {
    default: false,
  }),
  skipDependencyResolution: flag("determines whether missing dependencies of the package are ignored.", {
    default: false,
  }),
  commonLabels: textMap("are added to the labels of the package's objects."),
  commonAnnotations: textMap("are added to the annotations of the package's objects."),
} as const;

const RUNTIME_CONFIG = {
  runtimeConfigRef: runtimeConfigReference(
    "names the DeploymentRuntimeConfig of the package's runtime. Defaults to default.",
    DEFAULT_CONFIG,
  ),
} as const;

const IMAGE_CONFIG_REFS = {
  appliedImageConfigRefs: list("are the ImageConfigs that apply to the package.", {
    "name!": text("is the name of the ImageConfig."),
    "reason!": text("is what the ImageConfig was used for, such as RewriteImage."),
  }),
} as const;

const TLS_SECRETS = {
  tlsServerSecretName: text("is the name of the Secret with the runtime's server certificate."),
  tlsClientSecretName: text("is the name of the Secret with the client certificate."),
} as const;

function packageKind(kind: string, { versions, hasRuntime }: Traits, about: string): Kind<Package> {
  return defineKind({
    group: "pkg.crossplane.io",
    kind,
    categories: ["pkg"],
    versions,
    about,
    fields: {
      "spec!": record("is the desired package.", {
        "package!": packageReference("is the image of the package, with its registry and a tag or digest."),
        revisionActivationPolicy: choice(
          "determines whether a new revision becomes active by itself. With Manual, set the " +
            "desiredState of the revision to Active.",
          ["Automatic", "Manual"],
          { default: "Automatic" },
        ),
        revisionHistoryLimit: integer("is the number of inactive revisions to keep. 0 keeps all.", {
          default: 1,
          minimum: 0,
        }),
        ...SHARED_FIELDS,
        ...(hasRuntime && RUNTIME_CONFIG),
      }),
      status: status({
        currentRevision: text("is the name of the revision of spec.package."),
        currentIdentifier: text("is the spec.package of currentRevision."),
        ...IMAGE_CONFIG_REFS,
        resolvedPackage: text("is the image that is installed, as ImageConfigs rewrite it."),
      }),
    },
    columns: [
      conditionColumn("INSTALLED", "Installed"),
      conditionColumn("HEALTHY", "Healthy"),
      column("PACKAGE", ".spec.package"),
      AGE,
    ],
  });
}

function revisionKind(
  packages: string,
  { versions, hasRuntime, hasEndpoint, isActivated }: Traits,
): Kind<PackageRevision> {
  return defineKind({
    group: "pkg.crossplane.io",
    kind: `${packages}Revision`,
    categories: ["pkgrev"],
    versions,
    about: `A ${packages}Revision is one version of a ${packages}. The controller creates it.`,
    fields: {
      "spec!": record("is the version of the package.", {
        "desiredState!": choice(
          "determines whether the revision controls the objects of the package, and has a runtime.",
          ["Active", "Inactive"],
        ),
        "image!": text("is the image of the package, with its digest."),
        "revision!": integer("is the number of the revision. The newest has the highest number."),
        ...SHARED_FIELDS,
        ...(hasRuntime && { ...RUNTIME_CONFIG, ...TLS_SECRETS }),
      }),
      status: status({
        objectRefs: list("are the objects of the package that exist.", {
          "apiVersion!": text("is the API version of the object."),
          "kind!": text("is the kind of the object."),
          "name!": text("is the name of the object."),
          uid: text("is the UID of the object."),
        }),
        commonMetadataHash: text("identifies what the controller has added to the objects."),
        foundDependencies: integer("is the number of the package's dependencies."),
        installedDependencies: integer("is the number of dependencies that are installed."),
        invalidDependencies: integer("is the number of those whose version is not accepted."),
        ...IMAGE_CONFIG_REFS,
        resolvedImage: text("is the image that is pulled: spec.image, with a rewritten prefix if any."),
        capabilities: texts("are the features that the package declares."),
        ...(hasRuntime && TLS_SECRETS),
        ...(hasEndpoint && { endpoint: text("is the address at which the function is called.") }),
      }),
    },
    columns: [
      conditionColumn("HEALTHY", "RevisionHealthy"),
      ...(hasRuntime ? [conditionColumn("RUNTIME-HEALTHY", "RuntimeHealthy")] : []),
      ...(isActivated ? [conditionColumn("RUNTIME-ACTIVE", "RuntimeActive")] : []),
      column("IMAGE", ".spec.image"),
      column("STATE", ".spec.desiredState"),
      AGE,
      column("REVISION", ".spec.revision", { priority: 1 }),
      column("DEP-FOUND", ".status.foundDependencies", { priority: 1 }),
      column("DEP-INSTALLED", ".status.installedDependencies", { priority: 1 }),
    ],
  });
}

const FUNCTION: Traits = { versions: ["v1", "v1beta1"], hasRuntime: true, hasEndpoint: true };
const PROVIDER: Traits = { versions: ["v1"], hasRuntime: true, hasEndpoint: false, isActivated: true };
const CONFIGURATION: Traits = { versions: ["v1"], hasRuntime: false, hasEndpoint: false };

export const FUNCTIONS: Kind<Package> = packageKind(
  "Function",
  FUNCTION,
  "A Function installs a package with a composition function, which steps of Compositions call by its name.",
);
export const FUNCTION_REVISIONS: Kind<PackageRevision> = revisionKind("Function", FUNCTION);
export const PROVIDERS: Kind<Package> = packageKind(
  "Provider",
  PROVIDER,
  "A Provider installs a package with the CRDs and the controller of managed resources.",
);
export const PROVIDER_REVISIONS: Kind<PackageRevision> = revisionKind("Provider", PROVIDER);
export const CONFIGURATIONS: Kind<Package> = packageKind(
  "Configuration",
  CONFIGURATION,
  "A Configuration installs a package of definitions and Compositions, and the packages on which they depend.",
);
export const CONFIGURATION_REVISIONS: Kind<PackageRevision> = revisionKind("Configuration", CONFIGURATION);
