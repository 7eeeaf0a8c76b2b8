/** Any fields, as a schema in flow style. */
export const ANYTHING = "{ type: object, x-kubernetes-preserve-unknown-fields: true }";

export interface DefinitionFields {
  /** Default: `example.org`. */
  readonly group?: string;
  /** Default: `v1`. */
  readonly version?: string;
  /** Further fields of the spec, in YAML. */
  readonly more?: string;
  /** The schema of `spec` in flow style. Default: any fields, also of `status`. */
  readonly spec?: string;
  readonly status?: string;
}

/** The YAML of a CompositeResourceDefinition with one version. */
export function definitionYaml(
  kind: string,
  { group = "example.org", version = "v1", more = "", spec, status }: DefinitionFields = {},
): string {
  const plural = `${kind.toLowerCase()}s`;
  const ofStatus = spec === undefined || status !== undefined ? `, status: ${status ?? ANYTHING}` : "";
  return `
apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: { name: ${plural}.${group} }
spec:
  group: ${group}
  names: { kind: ${kind}, plural: ${plural} }
  ${more}
  versions:
    - name: ${version}
      served: true
      referenceable: true
      schema: { openAPIV3Schema: { type: object, properties: { spec: ${spec ?? ANYTHING}${ofStatus} } } }
`;
}
