module github.com/c5c3/cobaltcore/hack

go 1.26.0
