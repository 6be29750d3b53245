module liteio

go 1.21
