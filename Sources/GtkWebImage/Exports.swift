@_exported public import WebImageCore
@_exported public import WebImageFormats
@_exported public import WebImageLinux
@_exported public import WebImageSandbox
