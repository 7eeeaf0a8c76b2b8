// The settings of a command. This entry loads neither logs nor servers, so that `xfn` starts fast.

export { declareSettings, givenFlags, type HelpGroups } from "./declare-settings.ts";
export { type ListenAddress, listenAddress } from "./listen-address.ts";
export { type GivenFlags, readSettings, type SettingsOf } from "./read-settings.ts";
export {
  age,
  anyText,
  choice,
  choiceAnyCase,
  cpu,
  duration,
  durationOrNone,
  durationWithin,
  integer,
  many,
  memory,
  one,
  optional,
  type Reader,
  required,
  type Setting,
  toggle,
  variableOf,
} from "./setting.ts";
export {
  CONTAINER_SETTINGS,
  type ContainerSettings,
  LIMIT_SETTINGS,
  type LimitSettings,
  type OperationSettings,
  operationSettings,
  outputSetting,
  pullPolicy,
  REGISTRY_ACCESS_SETTINGS,
  type RegistryAccessSettings,
  STORE_SETTINGS,
  type StoreSettings,
  tlsClientSettings,
} from "./shared-settings.ts";
