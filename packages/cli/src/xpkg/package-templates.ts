/** Writes the files of a package with this name, by path. */
export type PackageTemplate = (name: string) => Readonly<Record<string, string>>;

/** The sources that `xfn xpkg init` writes, by the name of the template. */
export const PACKAGE_TEMPLATES: ReadonlyMap<string, PackageTemplate> = new Map([
  ["configuration", configuration],
  ["provider", provider],
]);

function configuration(name: string): Readonly<Record<string, string>> {
  return {
    "crossplane.yaml": `apiVersion: meta.pkg.crossplane.io/v1
kind: Configuration
metadata:
  name: ${JSON.stringify(name)}
  annotations:
    meta.crossplane.io/description: Says what the platform team offers with this package.
spec:
  crossplane:
    version: ">=v1.17.0-0"
  # Packages that are installed with this one:
  # dependsOn:
  # - apiVersion: pkg.crossplane.io/v1
  #   kind: Function
  #   package: xpkg.crossplane.io/crossplane-contrib/function-auto-ready
  #   version: ">=v0.2.1"
`,
    "apis/bucket/definition.yaml": `apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata:
  name: xbuckets.example.org
spec:
  group: example.org
  names: {kind: XBucket, plural: xbuckets}
  versions:
  - name: v1alpha1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [region, namespace]
            properties:
              region: {type: string}
              namespace: {type: string}
`,
    "apis/bucket/composition.yaml": `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata:
  name: xbuckets.example.org
spec:
  compositeTypeRef: {apiVersion: example.org/v1alpha1, kind: XBucket}
  resources:
  - name: settings
    base:
      apiVersion: v1
      kind: ConfigMap
      data: {}
    patches:
    - fromFieldPath: spec.namespace
      toFieldPath: metadata.namespace
    - fromFieldPath: spec.region
      toFieldPath: data.region
    readinessChecks:
    - type: None
`,
    "examples/bucket.yaml": `apiVersion: example.org/v1alpha1
kind: XBucket
metadata: {name: example}
spec: {region: eu-west-1, namespace: default}
`,
  };
}

function provider(name: string): Readonly<Record<string, string>> {
  return {
    "crossplane.yaml": `apiVersion: meta.pkg.crossplane.io/v1
kind: Provider
metadata:
  name: ${JSON.stringify(name)}
  annotations:
    meta.crossplane.io/description: Says which resources this provider manages.
spec:
  crossplane:
    version: ">=v1.17.0-0"
`,
    "crds/buckets.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: buckets.example.org
spec:
  group: example.org
  names: {kind: Bucket, listKind: BucketList, plural: buckets, singular: bucket, categories: [crossplane, managed]}
  scope: Cluster
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            required: [forProvider]
            properties:
              forProvider:
                type: object
                required: [region]
                properties:
                  region: {type: string}
              providerConfigRef:
                type: object
                default: {name: default}
                required: [name]
                properties:
                  name: {type: string}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`,
  };
}
